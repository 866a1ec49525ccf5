import {
  addTopic,
  deleteTopic,
  listTopics,
  replaceTopics,
  searchTopics,
} from "../../contract/forge/repositories/topics.ts";
import { assertNever } from "../../errors.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import { toWireTime } from "../urls.ts";
import type { TopicOutcome, Topics } from "./topics.service.ts";

/** Routes of the topics of repositories. */
export function topicRoutes({ topics }: { readonly topics: Topics }): Route[] {
  return [
    handle(listTopics, async ({ caller, params, query }) => {
      const { names, total } = await topics.list(params, query, caller);
      return { status: 200, body: { topics: [...names] }, total };
    }),
    handle(replaceTopics, async ({ caller, params, body }) =>
      toReply(await topics.replace(params, body.topics ?? [], caller), "list"),
    ),
    handle(addTopic, async ({ caller, params }) =>
      toReply(await topics.add(params, params.topic, caller), "one"),
    ),
    handle(deleteTopic, async ({ caller, params }) =>
      toReply(await topics.remove(params, params.topic, caller), "one"),
    ),
    handle(searchTopics, async ({ caller, query }) => {
      const { topics: found, total } = await topics.search(query.q, query, caller);
      const body = found.map(({ id, name, repositories, createdAt, updatedAt }) => ({
        id,
        topic_name: name,
        repo_count: repositories,
        created: toWireTime(createdAt),
        updated: toWireTime(updatedAt),
      }));
      return { status: 200, body: { topics: body }, total };
    }),
  ];
}

/** The reference words the two kinds of requests differently. */
function toReply(outcome: TopicOutcome, of: "list" | "one") {
  const refuse = (body: {
    readonly invalidTopics?: string[] | string | null;
    readonly message: string;
  }) => ({ status: 422 as const, body });
  switch (outcome.kind) {
    case "changed":
      return { status: 204 as const };
    case "too_many":
      return of === "list"
        ? refuse({ invalidTopics: null, message: "Exceeding maximum number of topics per repo" })
        : refuse({ message: "Exceeding maximum allowed topics per repo." });
    case "invalid":
      return of === "list"
        ? refuse({ invalidTopics: [...outcome.names], message: "Topic names are invalid" })
        : refuse({ invalidTopics: outcome.names[0] ?? "", message: "Topic name is invalid" });
    default:
      return assertNever(outcome);
  }
}
