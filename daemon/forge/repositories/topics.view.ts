import type { ForgeTopic } from "../../../storage/tables/forge/repositories/topics.ts";
import { assertNever } from "../../errors.ts";
import { toWireTime } from "../urls.ts";
import type { TopicOutcome } from "./topics.service.ts";

/** Converts a topic of a search. */
export function toTopicView({ id, name, repositories, createdAt, updatedAt }: ForgeTopic) {
  return {
    id,
    topic_name: name,
    repo_count: repositories,
    created: toWireTime(createdAt),
    updated: toWireTime(updatedAt),
  };
}

/** Converts the outcome of a change. The reference uses different texts for a whole list and for one topic. */
export function toTopicReply(outcome: TopicOutcome, of: "list" | "one") {
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
