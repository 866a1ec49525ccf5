import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import {
  createPacketReader,
  FLUSH,
  parseCommand,
  type PushCommand,
  toCapabilities,
  toPktLine,
} from "./push-commands.ts";

/** A push as git has parsed it, right before git moves its refs. The objects have arrived. */
export interface HookRequest {
  readonly commands: readonly PushCommand[];
  /** Options of `git push -o`. */
  readonly options: readonly string[];
}

/** Returns why the push is refused, in one line; undefined allows it. */
export type DecidePush = (request: HookRequest) => Promise<string | undefined>;

/**
 * The hook, which passes git's questions to the daemon over the socket that it inherits as descriptor 3. When the daemon
 * ends or closes the socket, nothing holds the hook's output open, and git refuses the push.
 */
const HOOK = `#!/bin/sh
exec 2>/dev/null
cat <&3 &
exec >&3
cat
wait
`;

/**
 * The configuration that has git ask the hook about every ref. Git moves no ref of which the hook says nothing, and
 * refuses the push when the hook is missing or fails.
 */
export const hookConfig = { "receive.procReceiveRefs": "refs" } as const;

/** Returns the folder of the hook (`core.hooksPath`) and writes the hook there unless it is whole. */
export type PrepareHook = () => Promise<string>;

export function createPushHook(folder: string): PrepareHook {
  const path = join(folder, "proc-receive");
  return async () => {
    if (await isWhole(path)) return folder;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const temporary = `${path}.${randomUUID()}`;
    try {
      await writeProgram(temporary);
      await rename(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    return folder;
  };
}

async function isWhole(path: string): Promise<boolean> {
  try {
    const [text, { mode }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    return text === HOOK && (mode & 0o700) === 0o700;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

async function writeProgram(path: string): Promise<void> {
  await using file = await open(path, "wx", 0o700);
  await file.writeFile(HOOK);
}

/** Longest question of a hook, in bytes: no shorter than the longest list that a client may send. */
const QUESTION_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Answers the hook of one push over its socket (`proc-receive` in githooks): reads the refs that git is about to move and
 * has git move all of them or none. A question that cannot be read, and a `decide` that throws, refuse the push. Resolves
 * when the socket is closed, which is up to the caller, and `decide` has returned; never rejects.
 * @param onFailure called with what `decide` has thrown
 */
export async function answerHook(
  socket: Duplex,
  decide: DecidePush,
  onFailure: (error: unknown) => void,
): Promise<void> {
  const reader = createQuestionReader();
  let answering: Promise<void> | undefined;
  socket.on("data", (chunk: Buffer) => {
    const step = reader.read(chunk);
    if (step === "malformed") socket.destroy();
    else if (step?.kind === "version") socket.write(toVersion(step.hasOptions));
    else if (step !== undefined)
      answering = answer(socket, step, decide, onFailure).catch(onFailure);
  });
  await new Promise<void>((resolve) => socket.once("close", resolve));
  await answering;
}

async function answer(
  socket: Duplex,
  { commands, options }: HookRequest,
  decide: DecidePush,
  onFailure: (error: unknown) => void,
): Promise<void> {
  let reason: string | undefined;
  try {
    reason = await decide({ commands, options });
  } catch (error) {
    onFailure(error);
    reason = "croft could not check the push, try again later";
  }
  const lines = commands.map(({ ref }) =>
    reason === undefined
      ? toPktLine(`ok ${ref}`) + toPktLine("option fall-through")
      : toPktLine(`ng ${ref} ${reason}`),
  );
  if (socket.writable) socket.end(lines.join("") + FLUSH);
}

type Step =
  | { readonly kind: "version"; readonly hasOptions: boolean }
  | ({ readonly kind: "question" } & HookRequest)
  | "malformed"
  | undefined;

/** Reads the version that git speaks, then the refs, then the options of the push if there are any. */
function createQuestionReader(): { read(chunk: Buffer): Step } {
  const packets = createPacketReader();
  const commands: PushCommand[] = [];
  const options: string[] = [];
  let section: "version" | "commands" | "options" | "end" = "version";
  let hasOptions = false;
  let size = 0;

  function take(line: Buffer): boolean {
    if (section === "version") {
      const end = line.indexOf(0);
      hasOptions = end !== -1 && toCapabilities(line.subarray(end + 1)).includes("push-options");
      return /^version=1(?:[\0\n]|$)/.test(line.toString("latin1"));
    }
    if (section === "options") {
      options.push(line.toString("utf8"));
      return true;
    }
    const command = parseCommand(line);
    if (typeof command === "string") return false;
    commands.push(command);
    return true;
  }

  return {
    read(chunk) {
      size += chunk.byteLength;
      if (size > QUESTION_BYTES_MAX || section === "end") return "malformed";
      packets.add(chunk);
      for (let line = packets.next(); line !== undefined; line = packets.next()) {
        if (line === "malformed") return line;
        if (line !== "flush") {
          if (!take(line)) return "malformed";
        } else if (section === "version") {
          section = "commands";
          // Git waits for the answer before it goes on.
          return { kind: "version", hasOptions };
        } else if (section === "commands" && hasOptions) section = "options";
        else {
          section = "end";
          return { kind: "question", commands, options };
        }
      }
      return undefined;
    },
  };
}

function toVersion(hasOptions: boolean): string {
  return toPktLine(`version=1${hasOptions ? "\0push-options" : ""}`) + FLUSH;
}
