// Git over SSH. Start here: connections and the requests that they may send. ssh-authentication.ts identifies the account
// of a key, ssh-session.ts runs git, ssh-command.ts parses the client's command.
import { createServer, type Server as NetServer, type AddressInfo, type Socket } from "node:net";
import type { AuthContext, Connection, Server, ServerChannel, ServerConfig, Session } from "ssh2";
import type { Log } from "../../../utilities/logging.ts";
import { createReadScheduler } from "./read-scheduler.ts";
import { end, refuse, createSshSessions } from "./ssh-session.ts";
import type { SshTransfers } from "./ssh-session.ts";
import type { SshAuthentication, SshCaller } from "./ssh-authentication.ts";

export interface SshServerDeps {
  readonly transfers: SshTransfers;
  readonly authentication: SshAuthentication;
  readonly hostKeys: readonly string[];
  readonly log: Log;
  /** Counts a connection of an address, and returns whether it is within the limit. */
  readonly countConnection: (address: string) => Promise<boolean>;
  /** One client may have several addresses, such as those of an IPv6 network. */
  readonly addressKey: (address: string) => string;
  /** Milliseconds without a byte after which a connection is closed. */
  readonly idleMs: number;
  /** The software version in the server's identification, such as `croft_1.0`. */
  readonly ident: string;
}

export type SshServer = ReturnType<typeof createSshServer>;

const limits = {
  /** Maximum number of concurrent connections, in total and of one client. */
  connections: 512,
  perClient: 64,
  /** Maximum number of connections that have not signed in. */
  unauthenticated: 64,
  unauthenticatedPerClient: 16,
  /** Time to sign in. */
  loginMs: 30_000,
  /** Time for a client to close its end after the server closed its own. */
  lingerMs: 2_000,
  /** Maximum number of keys that a client may offer: an agent may hold many. */
  attempts: 20,
  /**
   * Maximum bytes that a client may send before it has signed in: room for offers of keys, but not for a flood of
   * requests.
   */
  loginBytes: 128 * 1024,
  /**
   * Limits of key exchanges after the first one, each of which takes milliseconds of processor time: a fixed number,
   * and more for the bytes that are transferred. A client may not start one before it has signed in.
   */
  rekeys: 4,
  bytesPerRekey: 1024 * 1024,
  /**
   * Maximum number of concurrent commands on one connection, as in OpenSSH; and of sessions that never ran one, which
   * the library keeps until the connection ends.
   */
  sessions: 10,
  /** Maximum number of unsent bytes on one connection; beyond it, git waits. */
  bufferedBytes: 1024 * 1024,
} as const;

/** Only ciphers with hardware support: authenticated encryption, or counter mode with a MAC. No SHA-1. */
const algorithms = {
  kex: [
    "curve25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp256",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group14-sha256",
    "diffie-hellman-group16-sha512",
  ],
  cipher: ["aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes256-ctr"],
  hmac: ["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com", "hmac-sha2-256"],
  compress: ["none"],
} as const;

/**
 * Creates the SSH server. It runs git's services for the holders of registered keys and refuses everything else: terminals,
 * agents, forwarding, other programs, and variables but `GIT_PROTOCOL`.
 */
export function createSshServer(deps: SshServerDeps) {
  const { log } = deps;
  const runSession = createSshSessions(deps);
  const scheduleReads = createReadScheduler(limits.bufferedBytes);
  /** By the address and port of the client. */
  const clients = new Map<string, SshClient>();
  let isStopping = false;
  let library: Promise<Server> | undefined;
  const listener: NetServer = createServer({ noDelay: true }, (socket) => {
    socket.on("error", () => socket.destroy());
    if (isStopping || !hasRoom(socket)) {
      socket.destroy();
      return;
    }
    const client = admit(socket);
    deps
      .countConnection(client.address)
      .then((isAllowed) => {
        return isAllowed ? (library ??= loadLibrary()) : undefined;
      })
      .then((accept) => {
        if (accept !== undefined && !socket.destroyed) accept.injectSocket(socket);
        else socket.destroy();
      })
      .catch((error: unknown) => {
        log.error({ err: error }, "failed to accept an SSH connection");
        socket.destroy();
      });
  });
  listener.on("error", (error) => log.error({ err: error }, "the SSH listener failed"));

  return {
    /** Starts to listen and returns the port. Rejects with the system's error. */
    listen: (host: string, port: number): Promise<number> =>
      new Promise((resolve, reject) => {
        listener.once("error", reject);
        listener.listen(port, host, () => {
          listener.removeListener("error", reject);
          resolve((listener.address() as AddressInfo).port);
        });
      }),

    /** Stops accepting, waits at most `graceMs` for running commands, then closes all connections. */
    async stop(graceMs: number): Promise<void> {
      isStopping = true;
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      for (const client of clients.values()) endWhenIdle(client);
      const timer = setTimeout(() => {
        for (const { socket } of clients.values()) socket.destroy();
      }, graceMs);
      await closed;
      clearTimeout(timer);
    },
  };

  /** The library is large: the first connection loads it. */
  async function loadLibrary(): Promise<Server> {
    const { default: ssh2 } = await import("ssh2");
    return new ssh2.Server(
      { hostKeys: [...deps.hostKeys], ident: deps.ident, algorithms: toAlgorithms() },
      (connection, { ip, port }) => {
        const client = clients.get(toName(ip, port));
        if (client !== undefined) serve(connection, client);
      },
    );
  }

  function hasRoom(socket: Socket): boolean {
    const key = deps.addressKey(socket.remoteAddress ?? "");
    const all = [...clients.values()];
    const own = all.filter((client) => client.key === key);
    const isNew = ({ isSignedIn }: SshClient) => !isSignedIn;
    return (
      all.length < limits.connections &&
      own.length < limits.perClient &&
      all.filter(isNew).length < limits.unauthenticated &&
      own.filter(isNew).length < limits.unauthenticatedPerClient
    );
  }

  /** Counts a client from its connection until it disconnects. */
  function admit(socket: Socket): SshClient {
    const address = socket.remoteAddress ?? "";
    const name = toName(address, socket.remotePort ?? 0);
    const gone = new AbortController();
    const login = setTimeout(() => {
      if (!client.isSignedIn) socket.destroy();
    }, limits.loginMs);
    const client: SshClient = {
      address,
      key: deps.addressKey(address),
      socket,
      gone: gone.signal,
      isSignedIn: false,
      sessions: 0,
      unusedSessions: 0,
    };
    clients.set(name, client);
    // Paused until the library listens: otherwise the next listener would start reading.
    socket.pause();
    socket.on("data", () => {
      if (!client.isSignedIn && socket.bytesRead > limits.loginBytes) socket.destroy();
    });
    scheduleReads(socket);
    socket.setTimeout(deps.idleMs, () => socket.destroy());
    // After an error the library stops reading, so the end of the connection would never be noticed.
    socket.once("finish", () => setTimeout(() => socket.destroy(), limits.lingerMs).unref());
    socket.once("close", () => {
      clearTimeout(login);
      clients.delete(name);
      gone.abort(new Error("the client disconnected"));
    });
    return client;
  }

  function serve(connection: Connection, client: SshClient): void {
    const { socket, address } = client;
    // The client violated the protocol or disconnected.
    connection.on("error", (error) => {
      log.debug({ err: error, address }, "SSH connection failed");
      socket.destroy();
    });

    let attempts = 0;
    let key: Buffer | undefined;
    connection.on("authentication", (context) => {
      attempts += 1;
      if (attempts > limits.attempts) {
        socket.destroy();
        return;
      }
      authenticate(context)
        .then((isAccepted) => {
          if (socket.destroyed) return;
          if (!isAccepted || context.method !== "publickey") context.reject(["publickey"]);
          else {
            // Set only after a signature: an offer of a key proves nothing.
            if (context.signature !== undefined) key = context.key.data;
            context.accept();
          }
        })
        .catch((error: unknown) => {
          log.error({ err: error }, "failed to authenticate an SSH client");
          socket.destroy();
        });
    });
    connection.on("ready", () => {
      client.isSignedIn = true;
    });
    let rekeys = 0;
    connection.on("rekey", () => {
      rekeys += 1;
      const bytes = socket.bytesRead + socket.bytesWritten;
      const allowed = client.isSignedIn ? limits.rekeys + bytes / limits.bytesPerRekey : 0;
      if (rekeys <= allowed) return;
      log.debug({ address, rekeys }, "closed an SSH connection with too many key exchanges");
      socket.destroy();
    });
    connection.on("session", (accepted, rejected) => {
      const isFull = Math.max(client.sessions, client.unusedSessions) >= limits.sessions;
      if (key === undefined || isFull || isStopping) {
        rejected();
        return;
      }
      serveSession(accepted(), client, key);
    });
  }

  async function authenticate(context: AuthContext): Promise<boolean> {
    if (context.method !== "publickey") return false;
    const { key, signature, blob, hashAlgo } = context;
    if (!(await deps.authentication.knows(context.username, key.data))) return false;
    if (signature === undefined || blob === undefined) return true;
    const { isSignedByKey } = await import("./key-signature.ts");
    return isSignedByKey({
      type: key.algo,
      key: key.data,
      message: blob,
      signature,
      hash: hashAlgo,
    });
  }

  function serveSession(session: Session, client: SshClient, key: Buffer): void {
    const { address } = client;
    let protocol: string | undefined;
    let isUsed = false;
    client.unusedSessions += 1;
    const begin = (channel: ServerChannel, work: (signal: AbortSignal) => Promise<void>) => {
      client.sessions += 1;
      client.unusedSessions -= 1;
      const closed = new AbortController();
      channel.on("error", () => channel.close());
      channel.stderr.on("error", () => channel.close());
      channel.once("close", () => closed.abort(new Error("the channel was closed")));
      work(AbortSignal.any([closed.signal, client.gone]))
        .catch((error: unknown) => {
          log.error({ err: error, address }, "an SSH session failed");
          refuse(channel, "the server could not serve the session, try again in a moment");
        })
        .then(() => {
          client.sessions -= 1;
          if (isStopping) endWhenIdle(client);
        })
        .catch((error: unknown) => {
          log.error({ err: error, address }, "failed to end an SSH session");
          client.socket.destroy();
        });
    };
    session.on("env", (accepted, rejected, { key: name, val: value }) => {
      if (name === "GIT_PROTOCOL") {
        protocol = value;
        accepted?.();
      } else rejected?.();
    });
    session.on("exec", (accepted, rejected, { command: line }) => {
      if (isUsed) return rejected?.();
      isUsed = true;
      const channel = accepted();
      begin(channel, (signal) =>
        runSession({ channel, line, protocol, address, signal, drained }, (path) =>
          deps.authentication.findCaller(key, path),
        ),
      );
      return undefined;
    });
    session.on("shell", (accepted, rejected) => {
      if (isUsed) return rejected?.();
      isUsed = true;
      const channel = accepted();
      begin(channel, async () => {
        const found = await deps.authentication.findCaller(key, undefined);
        channel.stderr.write(`${toGreeting(found)}\n`);
        end(channel, 1);
      });
      return undefined;
    });

    async function drained(): Promise<void> {
      const { socket } = client;
      if (socket.writableLength <= limits.bufferedBytes || socket.destroyed) return;
      await new Promise<void>((resolve) => {
        const done = () => {
          socket.removeListener("drain", done);
          socket.removeListener("close", done);
          resolve();
        };
        socket.on("drain", done);
        socket.on("close", done);
      });
    }
  }
}

function toGreeting(found: SshCaller): string {
  if (found.kind === "refused") return found.reason;
  const name = found.kind === "caller" ? found.caller.user.name : "holder of a deploy key";
  return `Hi ${name}! croft serves git over SSH, and no shell.`;
}

interface SshClient {
  readonly address: string;
  /** The key under which its connections are counted; see `addressKey`. */
  readonly key: string;
  readonly socket: Socket;
  /** Aborted when the connection is closed. */
  readonly gone: AbortSignal;
  isSignedIn: boolean;
  /** Number of running commands. */
  sessions: number;
  /** Number of sessions that never ran a command. */
  unusedSessions: number;
}

const toName = (address: string, port: number) => `${address} ${port}`;

/** Closes a connection on which no command runs, after sending the output that was already written. */
function endWhenIdle({ socket, sessions }: SshClient): void {
  if (sessions === 0) socket.end(() => socket.destroy());
}

function toAlgorithms(): NonNullable<ServerConfig["algorithms"]> {
  const { kex, cipher, hmac, compress } = algorithms;
  return { kex: [...kex], cipher: [...cipher], hmac: [...hmac], compress: [...compress] };
}
