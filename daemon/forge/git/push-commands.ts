/** The head of a push: the refs that it moves. */
export interface PushCommands {
  readonly commands: readonly PushCommand[];
  readonly capabilities: ReadonlySet<string>;
  /** Options of `git push -o`, such as `repo.private=true`. */
  readonly options: readonly string[];
}

/** One ref that a push moves. */
export interface PushCommand {
  readonly ref: string;
  /** Object ids in hex; all zeros for a ref that does not exist before or after. */
  readonly before: string;
  readonly after: string;
}

/** Encodes a text as a pkt-line (gitprotocol-common). */
export function toPktLine(text: string): string {
  return (Buffer.byteLength(text) + 4).toString(16).padStart(4, "0") + text;
}

/** The flush packet, which ends a section. */
export const FLUSH = "0000";

/** Reads the commands at the beginning of a push, and the options that follow, in one pass over its chunks. */
export interface CommandsReader {
  /**
   * Returns undefined until the end of the list has arrived, and `malformed` for a list that is too long or invalid.
   * Some lists that git may accept are invalid here: signed pushes (`push-cert`), upper-case ids.
   */
  read(chunk: Buffer): PushCommands | "malformed" | undefined;
  /** Returns the capabilities that the client has named so far. */
  capabilities(): ReadonlySet<string>;
}

/** Creates a reader of lists of at most `bytesMax`. */
export function createCommandsReader(bytesMax: number): CommandsReader {
  const commands: PushCommand[] = [];
  const options: string[] = [];
  let capabilities: ReadonlySet<string> = new Set();
  let isInOptions = false;
  let size = 0;
  // The beginning of a line whose end has not arrived.
  let rest: Buffer = Buffer.alloc(0);

  /** Returns whether the line is a command or names a commit that a shallow clone lacks the parents of. */
  function take(data: Buffer): boolean {
    const [command = "", words] = data.toString("utf8").split("\0");
    if (words !== undefined) capabilities = new Set(words.trim().split(" "));
    const [, before, after, ref] =
      /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) ([^\n]+)\n?$/.exec(command) ?? [];
    if (before === undefined || after === undefined || ref === undefined)
      return /^shallow [0-9a-f]+\n?$/.test(command);
    commands.push({ ref, before, after });
    return true;
  }

  return {
    read(chunk) {
      size += chunk.byteLength;
      const bytes = rest.byteLength === 0 ? chunk : Buffer.concat([rest, chunk]);
      let at = 0;
      for (;;) {
        const line = readLine(bytes, at);
        if (line === "malformed") return line;
        if (line === undefined) break;
        at = line.next;
        if (line.data === undefined) {
          if (isInOptions || !capabilities.has("push-options"))
            return { commands, capabilities, options };
          isInOptions = true;
        } else if (isInOptions) options.push(line.data.toString("utf8").replace(/\n$/, ""));
        else if (!take(line.data)) return "malformed";
      }
      rest = bytes.subarray(at);
      return size > bytesMax ? "malformed" : undefined;
    },
    capabilities: () => capabilities,
  };
}

/**
 * Returns the refs that git reports as moved in the response to a push; undefined when the response has no report.
 * @param isBanded whether the report is wrapped in a side band
 */
export function readReport(response: Buffer, isBanded: boolean): ReadonlySet<string> | undefined {
  const report = isBanded ? unwrapBand(response) : response;
  const accepted = new Set<string>();
  let hasReport = false;
  let at = 0;
  for (;;) {
    const line = readLine(report, at);
    if (line === undefined || line === "malformed") return hasReport ? accepted : undefined;
    at = line.next;
    const text = line.data?.toString("utf8").replace(/\n$/, "") ?? "";
    if (text.startsWith("unpack ")) hasReport = true;
    if (text.startsWith("ok ")) accepted.add(text.slice(3));
  }
}

/** Returns the first side band of a response: the report without progress and messages. */
function unwrapBand(response: Buffer): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const line = readLine(response, at);
    if (line === undefined || line === "malformed") return Buffer.concat(parts);
    at = line.next;
    if (line.data?.[0] === 1) parts.push(line.data.subarray(1));
  }
}

type ReadLine = { readonly data: Buffer | undefined; readonly next: number };

function readLine(bytes: Buffer, at: number): ReadLine | "malformed" | undefined {
  if (bytes.byteLength < at + 4) return undefined;
  const head = bytes.toString("latin1", at, at + 4);
  if (!/^[0-9a-fA-F]{4}$/.test(head)) return "malformed";
  const length = Number.parseInt(head, 16);
  if (length < 4) return { data: undefined, next: at + 4 };
  if (bytes.byteLength < at + length) return undefined;
  return { data: bytes.subarray(at + 4, at + length), next: at + length };
}
