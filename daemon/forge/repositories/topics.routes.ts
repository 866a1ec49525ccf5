import { languageEndpoints } from "../../contract/forge/repositories/languages.ts";
import { repositoryTopicEndpoints } from "../../contract/forge/repositories/topics.ts";
import type { Route } from "../../http/handle.ts";
import { answer, reply } from "../../http/serve.ts";
import { serve } from "../handle.ts";
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
    ...serve(repositoryTopicEndpoints, {
      listTopics: async ({ opened, query }) => {
        const { names, total } = topics.list(opened, query);
        return answer({ topics: [...names] }, { total });
      },
      // The refusal of a name has a body of its own.
      replaceTopics: async ({ opened, body }) =>
        reply(toTopicReply(await topics.replace(opened, body.topics ?? []), "list")),
      addTopic: async ({ opened, params }) =>
        reply(toTopicReply(await topics.add(opened, params.topic), "one")),
      deleteTopic: async ({ opened, params }) =>
        reply(toTopicReply(await topics.remove(opened, params.topic), "one")),
      searchTopics: async ({ caller, query }) => {
        const { topics: found, total } = await topics.search(query.q, query, caller);
        return answer({ topics: found.map(toTopicView) }, { total });
      },
    }),
    ...serve(languageEndpoints, {
      listLanguages: async ({ opened }) => ({ ...(await languages.get(opened.repository)) }),
    }),
  ];
}
