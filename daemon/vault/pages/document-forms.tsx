import { topicEndpoints } from "../../contract/vault/topics.ts";
import type { SignedInContext } from "./vault-page.ts";

/** The fields of a share with a person. */
export function ShareFields({ recipient = "" }: { recipient?: string }) {
  return (
    <>
      <label>
        Handle of the person
        <input
          name="recipient"
          defaultValue={recipient}
          required
          maxLength={32}
          autoCapitalize="none"
          spellCheck={false}
        />
      </label>
      <label>
        The person may
        <select name="permission">
          <option value="view">look at it here</option>
          <option value="download">download it, too</option>
        </select>
      </label>
    </>
  );
}

/** Returns the name of a topic as it is stored; makes one of the caller's own when there is none. */
export async function ensureTopic({ call }: SignedInContext, typed: string): Promise<string> {
  const name = typed.trim();
  const { body } = await call(topicEndpoints.listTopics);
  const found = body.items.find((each) => each.name.toLowerCase() === name.toLowerCase());
  if (found !== undefined) return found.name;
  return (await call(topicEndpoints.createTopic, { body: { name } })).body.name;
}
