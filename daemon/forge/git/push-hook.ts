import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
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

/** The refs of a push whose objects git still keeps apart. */
export interface JudgeRequest {
  readonly commands: readonly PushCommand[];
  /** The folder of those objects, relative to the repository; undefined for a push without objects. */
  readonly quarantine: string | undefined;
}

/** Decides about a push. Each function returns why the push is refused, in one line; undefined allows it. */
export interface PushJudge {
  /** Called before git takes the objects in: a push that is refused leaves none. */
  judge(request: JudgeRequest): Promise<string | undefined>;
  /** Called right before git moves the refs. */
  accept(request: HookRequest): Promise<string | undefined>;
  /** Returns what the hook says of an accepted ref, a line each; by default that git moves it. */
  report?(command: PushCommand): readonly string[];
}

/**
 * The hooks, which pass git's questions to the daemon over the socket that they inherit as descriptor 3. Git drops the objects
 * of a push that `pre-receive` refuses, but goes on without asking when that hook is missing; a push that did not pass it
 * is refused by `proc-receive`, which git cannot skip. When the daemon ends or closes the socket, nothing holds a hook's
 * output open, and git refuses the push.
 */
const HOOKS = {
  "pre-receive": `#!/bin/sh
exec 2>/dev/null
{ printf 'judge %s\\n' "\${GIT_QUARANTINE_PATH##*/}"; cat; echo; } >&3
read -r answer <&3
[ "$answer" = yes ]
`,
  "proc-receive": `#!/bin/sh
exec 2>/dev/null
cat <&3 &
exec cat >&3
`,
} as const;

/**
 * The configuration that has git ask the hook about every ref. Git moves no ref of which the hook says nothing, and
 * refuses the push when the hook is missing or fails.
 */
export const hookConfig = { "receive.procReceiveRefs": "refs" } as const;

/** Returns the folder of the hooks (`core.hooksPath`) and writes those there that are not whole. */
export type PrepareHook = () => Promise<string>;

export function createPushHook(folder: string): PrepareHook {
  return async () => {
    await Promise.all(
      Object.entries(HOOKS).map(([name, text]) => writeUnlessWhole(join(folder, name), text)),
    );
    return folder;
  };
}

async function writeUnlessWhole(path: string, text: string): Promise<void> {
  if (await isWhole(path, text)) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeProgram(temporary, text);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function isWhole(path: string, whole: string): Promise<boolean> {
  try {
    const [text, { mode }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    return text === whole && (mode & 0o700) === 0o700;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

async function writeProgram(path: string, text: string): Promise<void> {
  await using file = await open(path, "wx", 0o700);
  await file.writeFile(text);
}

/** Longest question of a hook, in bytes: no shorter than the longest list that a client may send. */
const QUESTION_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Answers the hooks of one push over their socket (`pre-receive` and `proc-receive` in githooks): reads the refs that git is
 * about to move and has git move all of them or none. A question that cannot be read, one that was not judged, and a judge
 * that throws, refuse the push. Resolves when the socket is closed, which is up to the caller, and the judge has returned;
 * never rejects.
 * @param onFailure called with what the judge has thrown
 */
export async function answerHook(
  socket: Duplex,
  judge: PushJudge,
  onFailure: (error: unknown) => void,
): Promise<void> {
  const judgement = createJudgementReader();
  const reader = createQuestionReader();
  let isJudged = false;
  let answering: Promise<void> | undefined;
  /** Lets the caller wait for the answer to a question. */
  const answer = (decide: () => Promise<string | undefined>, write: (reason?: string) => void) => {
    answering = decide()
      .catch((error: unknown) => {
        onFailure(error);
        return UNCHECKED;
      })
      .then((reason) => {
        if (socket.writable) write(reason);
      })
      .catch(onFailure);
  };
  socket.on("data", (chunk: Buffer) => {
    if (!isJudged) {
      const request = judgement.read(chunk);
      if (request === "malformed") socket.destroy();
      else if (request !== undefined) {
        isJudged = true;
        answer(
          () => judge.judge(request),
          (reason) => (reason === undefined ? socket.write("yes\n") : socket.end("no\n")),
        );
      }
      return;
    }
    const step = reader.read(chunk);
    if (step === "malformed") socket.destroy();
    else if (step?.kind === "version") socket.write(toVersion(step.hasOptions));
    else if (step !== undefined)
      answer(
        () => judge.accept(step),
        (reason) => socket.end(toAnswer(step, reason, judge)),
      );
  });
  await new Promise<void>((resolve) => socket.once("close", resolve));
  await answering;
}

/** The reason of a refusal when the check has failed. */
export const UNCHECKED = "croft could not check the push, try again later";

function toAnswer(
  { commands }: HookRequest,
  reason: string | undefined,
  judge: Pick<PushJudge, "report">,
): string {
  const lines = commands.flatMap((command) => {
    const { ref } = command;
    if (reason !== undefined) return toPktLine(`ng ${ref} ${reason}`);
    const options = judge.report?.(command) ?? ["fall-through"];
    return [`ok ${ref}`, ...options.map((option) => `option ${option}`)].map(toPktLine);
  });
  return lines.join("") + FLUSH;
}

/** Reads the question of `pre-receive`: the folder of the objects, the refs one a line, and an empty line. */
function createJudgementReader(): { read(chunk: Buffer): JudgeRequest | "malformed" | undefined } {
  const commands: PushCommand[] = [];
  let folder: string | undefined;
  let rest = Buffer.alloc(0);
  let size = 0;
  return {
    read(chunk) {
      size += chunk.byteLength;
      if (size > QUESTION_BYTES_MAX) return "malformed";
      const bytes = Buffer.concat([rest, chunk]);
      let start = 0;
      for (let end = bytes.indexOf("\n"); end !== -1; end = bytes.indexOf("\n", start)) {
        const line = bytes.subarray(start, end);
        start = end + 1;
        if (folder === undefined) {
          folder = START.exec(line.toString("latin1"))?.[1];
          if (folder === undefined) return "malformed";
        } else if (line.length > 0) {
          const command = parseCommand(line);
          if (typeof command === "string") return "malformed";
          commands.push(command);
        } else return { commands, quarantine: folder === "" ? undefined : `objects/${folder}` };
      }
      rest = bytes.subarray(start);
      return rest.length > LINE_BYTES_MAX ? "malformed" : undefined;
    },
  };
}

/** The first line, with git's name of the folder of objects that it keeps apart. */
const START = /^judge ((?:tmp_objdir-)?incoming-\w+|)$/;
/** Longer than a packet, and so than a ref that a client may name. */
const LINE_BYTES_MAX = 1 << 17;

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
