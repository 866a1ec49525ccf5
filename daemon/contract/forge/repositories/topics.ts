import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import {
  apiError,
  optionalWords,
  paging,
  queryText,
  signedInReplies,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams } from "./repositories.ts";

const topicParams = repositoryParams.extend({ topic: z.string() });
const replies = { ...signedInReplies, 404: apiError } as const;

/** The answer to names that cannot be topics: all of them for a list, else the one. */
const topicError = z.object({
  invalidTopics: z.union([z.array(z.string()), z.string()]).nullish(),
  message: z.string(),
  url: z.string().optional(),
});

export const listTopics = endpoint({
  name: "forge.repos.topics.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/topics",
  summary: "The topics of a repository, by name",
  gate: anyoneWithin("repository"),
  on: repository("any", "read"),
  params: repositoryParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.object({ topics: z.array(z.string()) }), ...replies },
});

export const replaceTopics = endpoint({
  name: "forge.repos.topics.replace",
  method: "PUT",
  path: "/api/v1/repos/:owner/:repo/topics",
  summary: "Give a repository these topics and no others",
  gate: forgeUser("repository"),
  on: repository("any", "admin"),
  params: repositoryParams,
  body: z.object({ topics: optionalWords }),
  replies: { 204: empty, ...replies, 422: topicError },
});

export const addTopic = endpoint({
  name: "forge.repos.topics.add",
  method: "PUT",
  path: "/api/v1/repos/:owner/:repo/topics/:topic",
  summary: "Add a topic to a repository",
  gate: forgeUser("repository"),
  on: repository("any", "admin"),
  params: topicParams,
  replies: { 204: empty, ...replies, 422: topicError },
});

export const deleteTopic = endpoint({
  name: "forge.repos.topics.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/topics/:topic",
  summary: "Take a topic from a repository",
  gate: forgeUser("repository"),
  on: repository("any", "admin"),
  params: topicParams,
  replies: { 204: empty, ...replies, 422: topicError },
});

export const searchTopics = endpoint({
  name: "forge.topics.search",
  method: "GET",
  path: "/api/v1/topics/search",
  summary: "Search the topics of the repositories that the caller may read",
  gate: anyoneWithin("repository"),
  query: z.object({ q: queryText, ...paging }),
  paging: "link_and_total",
  replies: {
    200: z.object({
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
    ...signedInReplies,
  },
});

export const repositoryTopicEndpoints = {
  listTopics,
  replaceTopics,
  addTopic,
  deleteTopic,
  searchTopics,
};
