import { languageEndpoints } from "../../contract/forge/repositories/languages.ts";
import { repositoryTopicEndpoints } from "../../contract/forge/repositories/topics.ts";
import type { Route } from "../../http/handle.ts";
import { handle, serve } from "../handle.ts";
import type { Languages } from "./languages/languages.service.ts";
import type { Topics } from "./topics.service.ts";
import { toTopicReply, toTopicView } from "./topics.view.ts";

/** Routes of the topics and languages of repositories. */
export function topicRoutes({
  topics,
  languages,
}: {
  readonly topics: Topics;
  readonly languages: Languages;
}): Route[] {
  const { listTopics, replaceTopics, addTopic, deleteTopic, searchTopics } =
    repositoryTopicEndpoints;
  return [
    handle(listTopics, async ({ opened, query }) => {
      const { names, total } = topics.list(opened, query);
      return { status: 200, body: { topics: [...names] }, total };
    }),
    // The refusal of a name has a body of its own.
    handle(replaceTopics, async ({ opened, body }) =>
      toTopicReply(await topics.replace(opened, body.topics ?? []), "list"),
    ),
    handle(addTopic, async ({ opened, params }) =>
      toTopicReply(await topics.add(opened, params.topic), "one"),
    ),
    handle(deleteTopic, async ({ opened, params }) =>
      toTopicReply(await topics.remove(opened, params.topic), "one"),
    ),
    handle(searchTopics, async ({ caller, query }) => {
      const { topics: found, total } = await topics.search(query.q, query, caller);
      return { status: 200, body: { topics: found.map(toTopicView) }, total };
    }),
    ...serve(languageEndpoints, {
      listLanguages: async ({ opened }) => ({ ...(await languages.get(opened.repository)) }),
    }),
  ];
}
