/** The head of a push: the refs that it moves. */
export interface PushCommands {
  readonly commands: readonly PushCommand[];
  /** Names of the capabilities that the client uses, without their values. */
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

/** A list of commands that cannot be checked; `reason` is a sentence for the client. */
export interface UnreadablePush {
  readonly kind: "unreadable";
  readonly reason: string;
}

/** Encodes a text as a pkt-line (gitprotocol-common). */
export function toPktLine(text: string): string {
  return (Buffer.byteLength(text) + 4).toString(16).padStart(4, "0") + text;
}

/** The flush packet, which ends a section. */
export const FLUSH = "0000";

/** Longest packet that git accepts (gitprotocol-common). */
const PACKET_BYTES_MAX = 65_520;

/** Splits a stream of bytes into packets. */
export function createPacketReader() {
  let bytes: Buffer = Buffer.alloc(0);
  let at = 0;
  return {
    add(chunk: Buffer): void {
      bytes = at === bytes.byteLength ? chunk : Buffer.concat([bytes.subarray(at), chunk]);
      at = 0;
    },
    /**
     * Returns the next packet; undefined until all of it has arrived. `malformed`: the length is invalid, or it is a special
     * packet other than the flush packet.
     */
    next(): Buffer | "flush" | "malformed" | undefined {
      const packet = readPacket(bytes, at);
      if (packet === undefined || packet === "malformed") return packet;
      at = packet.next;
      return packet.data ?? "flush";
    },
  };
}

type Packet = { readonly data: Buffer | undefined; readonly next: number };

function readPacket(bytes: Buffer, at: number): Packet | "malformed" | undefined {
  if (bytes.byteLength < at + 4) return undefined;
  const head = bytes.toString("latin1", at, at + 4);
  if (!/^[0-9a-fA-F]{4}$/.test(head)) return "malformed";
  const length = Number.parseInt(head, 16);
  if (length === 0) return { data: undefined, next: at + 4 };
  if (length < 4 || length > PACKET_BYTES_MAX) return "malformed";
  const next = at + length;
  return bytes.byteLength < next ? undefined : { data: bytes.subarray(at + 4, next), next };
}

/** Returns a line without the line feed that git removes from the end of a packet of a client. */
function withoutLineFeed(packet: Buffer): Buffer {
  return packet.at(-1) === 0x0a ? packet.subarray(0, -1) : packet;
}

/**
 * Creates a reader of lists of at most `bytesMax`. Reads the commands at the beginning of a push, and the options that
 * follow, in one pass over its chunks.
 */
export function createCommandsReader(bytesMax: number) {
  const packets = createPacketReader();
  const commands: PushCommand[] = [];
  const options: string[] = [];
  const capabilities = new Set<string>();
  let isInOptions = false;
  let size = 0;

  /** Returns why the line is unreadable. */
  function take(line: Buffer): string | undefined {
    // Git reads no capabilities from these lines.
    if (line.toString("latin1", 0, 8) === "shallow ")
      return /^shallow [0-9a-f]+$/.test(line.toString("latin1")) ? undefined : UNREADABLE;
    const end = line.indexOf(0);
    const command = parseCommand(end === -1 ? line : line.subarray(0, end));
    if (typeof command === "string") return command;
    if (end !== -1)
      for (const word of toCapabilities(line.subarray(end + 1))) capabilities.add(word);
    commands.push(command);
    return undefined;
  }

  return {
    /**
     * Returns undefined until the end of the list has arrived. Every list that it returns is the one that git reads from
     * the same bytes. Some lists that git accepts are unreadable here: signed ones (`push-cert`), ids in upper case, and
     * refs whose names are not UTF-8, because rules and events compare names as text.
     */
    read(chunk: Buffer): PushCommands | UnreadablePush | undefined {
      size += chunk.byteLength;
      packets.add(chunk);
      for (let line = packets.next(); line !== undefined; line = packets.next()) {
        if (line === "malformed") return unreadable(UNREADABLE);
        if (line === "flush") {
          if (isInOptions || commands.length === 0 || !capabilities.has("push-options"))
            return { commands, capabilities, options };
          isInOptions = true;
        } else if (isInOptions) options.push(withoutLineFeed(line).toString("utf8"));
        else {
          const problem = take(withoutLineFeed(line));
          if (problem !== undefined) return unreadable(problem);
        }
      }
      return size > bytesMax ? unreadable(UNREADABLE) : undefined;
    },
    /** Returns the capabilities that the client has named so far. */
    capabilities: (): ReadonlySet<string> => capabilities,
  };
}

const unreadable = (reason: string) => ({ kind: "unreadable", reason }) as const;

const UNREADABLE =
  "croft: the list of refs is too long or cannot be read; push fewer refs at a time, without --signed";
const NOT_UTF8 = "croft: the name of a ref is not UTF-8; rename it, or push the other refs by name";

/** Parses `before after ref`, the form of a command on the wire and in the input of a hook; else returns the reason. */
export function parseCommand(line: Buffer): PushCommand | string {
  // Each byte becomes one character, so that no byte of the name is lost before it is decoded.
  const [, before, after, name] =
    /^([0-9a-f]{40}(?:[0-9a-f]{24})?) ([0-9a-f]{40}(?:[0-9a-f]{24})?) (.+)$/s.exec(
      line.toString("latin1"),
    ) ?? [];
  if (before === undefined || after === undefined || name === undefined) return UNREADABLE;
  if (before.length !== after.length) return UNREADABLE;
  const bytes = Buffer.from(name, "latin1");
  const ref = bytes.toString("utf8");
  return Buffer.from(ref).equals(bytes) ? { ref, before, after } : NOT_UTF8;
}

/** Returns the names of capabilities as git finds them: words between blanks, up to a NUL, with or without a value. */
export function toCapabilities(bytes: Buffer): string[] {
  const [text = ""] = bytes.toString("latin1").split("\0");
  return text
    .split(/[ \t\r\n]+/)
    .map((word) => word.replace(/=.*$/s, ""))
    .filter((word) => word !== "");
}

/**
 * Returns the refs that git reports as moved in the response to a push; undefined when the response has no report.
 * @param isBanded whether the report is wrapped in a side band
 */
export function readReport(response: Buffer, isBanded: boolean): ReadonlySet<string> | undefined {
  const accepted = new Set<string>();
  let hasReport = false;
  for (const line of readLines(isBanded ? unwrapBand(response) : response)) {
    const text = line.toString("utf8");
    if (text.startsWith("unpack ")) hasReport = true;
    if (text.startsWith("ok ")) accepted.add(text.slice(3));
  }
  return hasReport ? accepted : undefined;
}

/** Returns the first side band of a response: the report without progress and messages. */
function unwrapBand(response: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const packet = readPacket(response, at);
    if (packet === undefined || packet === "malformed") return Buffer.concat(parts);
    if (packet.data?.[0] === 1) parts.push(packet.data.subarray(1));
    at = packet.next;
  }
}

/** Yields the lines of a response up to the first that is incomplete. */
function* readLines(bytes: Buffer): Generator<Buffer> {
  const packets = createPacketReader();
  packets.add(bytes);
  for (
    let packet = packets.next();
    packet !== undefined && packet !== "malformed";
    packet = packets.next()
  )
    if (packet !== "flush") yield withoutLineFeed(packet);
}

/** Returns git's report that refuses a whole push; empty for a client that does not support reports. */
export function toRefusal(
  { commands, capabilities }: Pick<PushCommands, "commands" | "capabilities">,
  reason: string,
): Buffer {
  if (!capabilities.has("report-status") && !capabilities.has("report-status-v2"))
    return Buffer.alloc(0);
  const lines = commands.map(({ ref }) => toPktLine(`ng ${ref} ${reason}\n`));
  const report = `${toPktLine("unpack ok\n")}${lines.join("")}${FLUSH}`;
  if (!capabilities.has("side-band-64k")) return Buffer.from(report);
  const bands: string[] = [];
  for (let at = 0; at < report.length; at += BAND_MAX)
    bands.push(toPktLine(`\u0001${report.slice(at, at + BAND_MAX)}`));
  return Buffer.from(bands.join("") + FLUSH);
}

/** Returns the packet whose lines a client prints after `remote: `; the client accepts `side-band-64k`. */
export function toRemoteMessage(text: string): Buffer {
  return Buffer.from(toPktLine(`\u0002${text}\n`));
}

/** Returns a message that git prints before it exits with an error, in place of a report. */
export function toFatalMessage(capabilities: ReadonlySet<string>, reason: string): Buffer {
  return Buffer.from(
    capabilities.has("side-band-64k")
      ? toPktLine(`\u0003${reason}\n`)
      : toPktLine(`ERR ${reason}\n`),
  );
}

/** Maximum characters of one packet; a character of a ref name may take three bytes. */
const BAND_MAX = 16_000;
