import { appendFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Endpoint } from "../../daemon/contract/endpoint.ts";

/** The statuses with which operations answered, by the name of the operation. */
export type Answers = ReadonlyMap<string, ReadonlySet<number>>;

const file = process.env["CROFT_TEST_ANSWERS"];
const written = new Set<string>();

/** Notes an answer in the file that `CROFT_TEST_ANSWERS` names, once a process; does nothing without it. */
export function recordAnswer(operation: string, status: number): void {
  if (file === undefined) return;
  const line = `${operation} ${status}\n`;
  if (written.has(line)) return;
  written.add(line);
  // Lines of several processes do not mix: each is one short write.
  appendFileSync(file, line);
}

/** Reads what all processes of a run have noted. */
export async function readAnswers(path: string): Promise<Answers> {
  const lines = (await readFile(path, "utf8")).split("\n").filter((line) => line !== "");
  const answers = new Map<string, Set<number>>();
  for (const line of lines) {
    const [operation = "", status] = line.split(" ");
    answers.set(operation, (answers.get(operation) ?? new Set()).add(Number(status)));
  }
  return answers;
}

/**
 * How many declared answers may go unseen by a run of all tests. Lower it when tests see more; a new operation comes with the
 * tests of its refusals.
 */
export const UNSEEN_MAX = 46;

/** What the tests left out of the contract, or met outside of it. */
export interface AnswerGaps {
  /** Operations that no test called. */
  readonly uncalled: readonly string[];
  /** Operations of which no test saw a success. */
  readonly unsuccessful: readonly string[];
  /** Answers that the contract does not declare, such as `forge.version.get 404`. */
  readonly undeclared: readonly string[];
  /** Declared answers that no test saw. */
  readonly unseen: readonly string[];
  readonly declared: number;
}

/** Operations that never succeed; OpenAPI wants a success of each. */
const neverSuccessful: ReadonlySet<string> = new Set([
  // Gitea's own, for a key with which the server signs commits: croft has none.
  "forge.signing_key.gpg",
  "forge.signing_key.ssh",
  "forge.repos.signing_key.gpg",
  "forge.repos.signing_key.ssh",
]);

/**
 * Answers that the transport gives to any request, so that operations do not declare them: a range, an address or a head that
 * cannot be read, another site, a body that is late, too large or of another type, too much work, a full disk, a client
 * that left.
 */
const answeredAnywhere: ReadonlySet<number> = new Set([
  206, 304, 307, 400, 403, 408, 412, 413, 415, 416, 417, 421, 429, 431, 499, 503, 507,
]);

/** Compares the answers of a run with the contract. */
export function findGaps(endpoints: readonly Endpoint[], answers: Answers): AnswerGaps {
  const none: ReadonlySet<number> = new Set();
  const all = endpoints.map(({ name, replies }) => ({
    name,
    statuses: Object.keys(replies).map(Number),
    seen: answers.get(name) ?? none,
  }));
  return {
    uncalled: all.filter(({ seen }) => seen.size === 0).map(({ name }) => name),
    unsuccessful: all
      .filter(({ name }) => !neverSuccessful.has(name))
      .filter(({ seen }) => seen.size > 0 && ![...seen].some((status) => status < 400))
      .map(({ name }) => name),
    undeclared: all.flatMap(({ name, statuses, seen }) =>
      [...seen]
        .filter((status) => !statuses.includes(status) && !answeredAnywhere.has(status))
        .map((status) => `${name} ${status}`),
    ),
    unseen: all.flatMap(({ name, statuses, seen }) =>
      statuses
        .filter((status) => !seen.has(status) && (status >= 400 || !neverSuccessful.has(name)))
        .map((status) => `${name} ${status}`),
    ),
    declared: all.reduce((sum, { statuses }) => sum + statuses.length, 0),
  };
}
