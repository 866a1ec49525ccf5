import { listLanguages } from "../../contract/forge/repositories/languages.ts";
import {
  addTopic,
  deleteTopic,
  listTopics,
  replaceTopics,
  searchTopics,
} from "../../contract/forge/repositories/topics.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
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
  return [
    handle(listTopics, async ({ caller, params, query }) => {
      const { names, total } = await topics.list(params, query, caller);
      return { status: 200, body: { topics: [...names] }, total };
    }),
    handle(replaceTopics, async ({ caller, params, body }) =>
      toTopicReply(await topics.replace(params, body.topics ?? [], caller), "list"),
    ),
    handle(addTopic, async ({ caller, params }) =>
      toTopicReply(await topics.add(params, params.topic, caller), "one"),
    ),
    handle(deleteTopic, async ({ caller, params }) =>
      toTopicReply(await topics.remove(params, params.topic, caller), "one"),
    ),
    handle(listLanguages, async ({ caller, params }) => ({
      status: 200,
      body: { ...(await languages.get(params, caller)) },
    })),
    handle(searchTopics, async ({ caller, query }) => {
      const { topics: found, total } = await topics.search(query.q, query, caller);
      return { status: 200, body: { topics: found.map(toTopicView) }, total };
    }),
  ];
}
