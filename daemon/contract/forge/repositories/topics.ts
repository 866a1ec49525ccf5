import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { anyoneWithin, empty } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import { optionalWords, paging, queryText, wireId, wireTime } from "../common.ts";
import { repositoryParams } from "./repositories.ts";

/** The answer to names that cannot be topics: all of them for a list, else the one. */
const topicError = z.object({
  invalidTopics: z.union([z.array(z.string()), z.string()]).nullish(),
  message: z.string(),
  url: z.string().optional(),
});

export const repositoryTopicEndpoints = {
  ...resource(
    {
      name: "forge.repos.topics",
      path: "/api/v1/repos/:owner/:repo/topics",
      params: repositoryParams,
      id: { topic: z.string() },
      gate: openTo("repository"),
      on: { read: repository("any", "read"), change: repository("any", "admin") },
    },
    ({ operation }) => ({
      listTopics: operation({
        as: "list",
        method: "GET",
        summary: "The topics of a repository, by name",
        query: z.object(paging),
        paging: "link_and_total",
        replies: { 200: z.object({ topics: z.array(z.string()) }) },
      }),
      replaceTopics: operation({
        as: "replace",
        method: "PUT",
        summary: "Give a repository these topics and no others",
        body: z.object({ topics: optionalWords }),
        replies: { 204: empty, 422: topicError },
      }),
      addTopic: operation({
        as: "add",
        method: "PUT",
        item: true,
        summary: "Add a topic to a repository",
        replies: { 204: empty, 422: topicError },
      }),
      deleteTopic: operation({
        as: "delete",
        method: "DELETE",
        item: true,
        summary: "Take a topic from a repository",
        replies: { 204: empty, 422: topicError },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.topics",
      path: "/api/v1/topics/search",
      shape: z.object({
        topics: z.array(
          z.object({
            id: wireId,
            topic_name: z.string(),
            /** The repositories with it that the caller may read. */
            repo_count: z.int(),
            created: wireTime,
            updated: wireTime,
          }),
        ),
      }),
      gate: anyoneWithin("repository"),
    },
    ({ get }) => ({
      searchTopics: get("Search the topics of the repositories that the caller may read", {
        as: "search",
        query: z.object({ q: queryText, ...paging }),
        paging: "link_and_total",
      }),
    }),
  ),
};
