import { finished } from "node:stream";
import type { Readable } from "node:stream";
import type { ServerChannel } from "ssh2";
import type { AppError } from "../../../errors.ts";
import { toRefusal } from "../../../http/replies.ts";
import type { Log } from "../../../utilities/logging.ts";
import type { ForgeCaller } from "../../caller.ts";
import type { RepositoryPath } from "../../repositories/find-repository.ts";
import type { SmartHttp } from "../smart-http.service.ts";
import type { TransferRequest } from "../transfer-access.ts";
import { parseSshCommand, type SshCommand } from "./ssh-command.ts";
import type { SshCaller } from "./ssh-authentication.ts";

/** What sessions do with repositories. */
export interface SshTransfers extends Pick<
  SmartHttp,
  "advertise" | "serveFetch" | "serveArchive" | "push"
> {
  /** Returns where the client transfers large files, as the JSON that Git LFS expects. */
  authorizeLargeFiles(request: TransferRequest, operation: "upload" | "download"): Promise<object>;
}

/** One command of a client, on a channel of its connection. */
export interface SshSession {
  readonly channel: ServerChannel;
  readonly line: string;
  /** The variable `GIT_PROTOCOL` that the client sent. */
  readonly protocol: string | undefined;
  readonly address: string;
  /** Aborted when the channel or the connection is closed. */
  readonly signal: AbortSignal;
  /** Waits until the connection takes more bytes. */
  readonly drained: () => Promise<void>;
}

/** Returns the caller that the connection's key signs in, for the repository of a command. */
type FindSshCaller = (path: RepositoryPath | undefined) => Promise<SshCaller>;

/**
 * Runs one of git's services on a channel, with the access, limits, journal and hooks of git over HTTP. A refusal is
 * written to the client's standard error, and the exit status is 1. Never rejects.
 */
export function createSshSessions({
  transfers,
  log,
}: {
  readonly transfers: SshTransfers;
  readonly log: Log;
}) {
  return async (session: SshSession, findCaller: FindSshCaller): Promise<void> => {
    const { channel, line } = session;
    try {
      const command = parseSshCommand(line);
      const found = await findCaller(
        command && { owner: command.owner, repo: command.name.replace(/\.git$/i, "") },
      );
      if (found.kind === "refused") return refuse(channel, found.reason);
      if (command === undefined || found.kind !== "caller")
        return refuse(channel, "Only git's upload-pack, receive-pack and upload-archive run here.");
      const exitCode = await run(transfers, session, command, found.caller);
      end(channel, exitCode);
    } catch (error) {
      const refusal = toRefusal(error);
      if (refusal !== undefined) return refuse(channel, toText(refusal));
      if (!session.signal.aborted) log.error({ err: error }, "a command over SSH failed");
      refuse(channel, "internal error");
    }
  };
}

async function run(
  transfers: SshTransfers,
  { channel, protocol, address, signal, drained }: SshSession,
  command: SshCommand,
  caller: ForgeCaller,
): Promise<number> {
  const { service, owner, name } = command;
  const request = { ownerName: owner, name, caller, address, protocol, signal };
  if (command.service === "git-lfs-authenticate") {
    const answer = await transfers.authorizeLargeFiles(request, command.operation);
    channel.write(`${JSON.stringify(answer)}\n`);
    return 0;
  }
  const transfer = { ...request, contentEncoding: undefined, body: channel as Readable };
  if (service === "git-upload-pack" || service === "git-upload-archive") {
    const serve = service === "git-upload-pack" ? transfers.serveFetch : transfers.serveArchive;
    const answer = await serve(transfer);
    await send(answer.stream, channel, drained);
    return answer.exitCode();
  }
  // A push is one git process here and two over HTTP; the protocol bytes are the same.
  const { body } = await transfers.advertise(request, service);
  channel.write(withoutServiceLine(body));
  const contentType = "application/x-git-receive-pack-request";
  const answer = await transfers.push({ ...transfer, contentType, isConversation: true });
  await send(answer.stream, channel, drained);
  return 0;
}

/** Writes a stream to a channel, no faster than the client reads; a disconnect of the client ends it. */
async function send(
  stream: Readable,
  channel: ServerChannel,
  drained: () => Promise<void>,
): Promise<void> {
  let isClosed = false;
  channel.once("close", () => {
    isClosed = true;
  });
  for await (const chunk of stream) {
    // A channel stays writable for a while after it was closed, but no longer drains.
    if (isClosed || !channel.writable) break;
    if (!channel.write(chunk)) await untilDrained(channel);
    if (!isClosed) await drained();
  }
}

/** Resolves when the channel takes more bytes, or is closed. Leaves no listener: a clone waits a million times. */
function untilDrained(channel: ServerChannel): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      channel.removeListener("drain", done);
      channel.removeListener("close", done);
      resolve();
    };
    channel.on("drain", done);
    channel.on("close", done);
  });
}

/** The first line and its flush packet exist only in HTTP. */
function withoutServiceLine(body: Buffer): Buffer {
  const length = Number.parseInt(body.toString("latin1", 0, 4), 16);
  return body.toString("latin1", 4, 14) === "# service=" ? body.subarray(length + 4) : body;
}

function toText(error: AppError): string {
  // A caller who may not see a repository must not learn that it exists.
  if (error.code === "not_found") return "repository not found";
  if (error.code === "moved") {
    const [, owner, name] = error.data.location?.split("/") ?? [];
    return `the repository is now ${owner}/${name}`;
  }
  return error.message;
}

/** Reports why a session is not served, and ends it with exit status 1. */
export function refuse(channel: ServerChannel, reason: string): void {
  if (channel.writable) channel.stderr.write(`croft: ${reason}\n`);
  end(channel, 1);
}

/** Reports the exit status and closes the channel after all output was written. */
export function end(channel: ServerChannel, exitCode: number): void {
  if (!channel.writable) {
    channel.close();
    return;
  }
  finished(channel, { readable: false }, () => channel.close());
  channel.exit(exitCode);
  channel.end();
}
