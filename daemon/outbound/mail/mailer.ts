import { connect, type Socket } from "node:net";
import type SMTPTransport from "nodemailer/lib/smtp-transport/index.js";
// daemon/outbound/mail: mails are enqueued in the transaction of the change that they report, and sent afterwards by a job.
// Start here; compose.ts makes the message, outbox.ts writes it to a file where no server is configured.
import { z } from "zod";
import type { Transaction } from "../../../storage/engine/database.ts";
import type { Keyring, SealAgain } from "../../../storage/keys/keyring.ts";
import { type Enqueue } from "../../jobs/queue.ts";
import { type JobContext, parsePayload, PermanentJobError } from "../../jobs/job-kind.ts";
import { type ComposedMail, composeMail, type MailMessage, type MailReader } from "./compose.ts";
import { writeMail } from "./outbox.ts";

/** Queues and sends mails. */
export type Mailer = ReturnType<typeof createMailer>;

export interface MailerOptions {
  readonly enqueue: Enqueue;
  /** Seals the queued mails, which contain reset links. */
  readonly keyring: Pick<Keyring, "seal" | "openText">;
  /** `smtp://` or `smtps://`; undefined writes mails to the outbox. */
  readonly smtpUrl: string | undefined;
  /** The sender, as `Name <address>` or an address. */
  readonly from: string;
  /** `outbox/` and `tmp/` of the data directory. */
  readonly outbox: string;
  readonly tmp: string;
  /** Returns whether the reason for a mail still holds for this address. A mail may wait for half a day. */
  readonly mayRead: (reader: MailReader, address: string) => Promise<boolean>;
  /** A cryptographically strong source. */
  readonly randomBytes: (size: number) => Uint8Array;
}

const KIND = "mail.send";
const PURPOSE = "mail";
const CONNECT_TIMEOUT_MS = 15_000;
const SILENCE_TIMEOUT_MS = 30_000;

const payloadSchema = z.object({ id: z.string(), sealed: z.string() });
/** The payload of a queued mail; its content is sealed. */
type QueuedMail = Readonly<z.output<typeof payloadSchema>>;

const contentSchema = z.object({
  to: z.string(),
  subject: z.string(),
  text: z.string(),
  reader: z
    .union([
      z.object({
        userId: z.int(),
        repositoryId: z.int().brand<"RepositoryId">(),
        part: z.enum(["issue", "pull"]).optional(),
      }),
      z.object({ userId: z.int(), teamId: z.int().brand<"TeamId">() }),
      z.object({ userId: z.int(), resetHash: z.string().optional() }),
      z.object({ vault: z.enum(["share", "invitation", "link"]), id: z.string() }),
      z.object({ vault: z.literal("password"), id: z.string(), replaces: z.string() }),
    ])
    .optional(),
  thread: z.object({ id: z.string(), isStart: z.boolean(), list: z.string() }).optional(),
  /** Epoch milliseconds. */
  queuedAt: z.number(),
});

/**
 * Sends by SMTP when a server is configured, else into the outbox. Retries for about half a day when the server fails. An
 * address that it refuses permanently dead-letters the job at once. Delivery is at least once: after a crash a mail may be
 * sent twice, with the same Message-ID.
 */
export function createMailer(options: MailerOptions) {
  const { enqueue, keyring, smtpUrl, from } = options;
  return {
    /** Enqueues a mail in the caller's transaction. Never fails because of the mail, its address or the server. */
    async queueMail(tx: Transaction, message: MailMessage) {
      const id = Buffer.from(options.randomBytes(12)).toString("hex");
      const content = JSON.stringify({ ...message, queuedAt: tx.now });
      const payload: QueuedMail = { id, sealed: keyring.seal(PURPOSE, content, rowOf(id)) };
      await enqueue(tx, { kind: KIND, payload });
    },
    /** The job that sends; for `JobQueue.register`. */
    job: {
      kind: KIND,
      concurrency: 2,
      attemptsMax: 18,
      retryFirstMs: 10_000,
      retryMaxMs: 3_600_000,
      timeoutMs: 120_000,
      async run(payload: unknown, { signal }: JobContext) {
        const { id, sealed } = parsePayload(payloadSchema, payload);
        const content: unknown = JSON.parse(keyring.openText(PURPOSE, sealed, rowOf(id)));
        const { queuedAt, reader, ...message } = parsePayload(contentSchema, content);
        if (reader !== undefined && !(await options.mayRead(reader, message.to))) return;
        const mail = await composeMail(message, { id, from, date: new Date(queuedAt) });
        if (mail === undefined) {
          throw new PermanentJobError("the recipient is not an e-mail address");
        }
        await (smtpUrl === undefined ? writeMail(options, mail) : sendMail(smtpUrl, mail, signal));
      },
    },
  };
}

/** Reseals the content of a queued mail and returns its payload as stored in the queue. */
export function sealMailAgain(payload: string, _job: number | string, again: SealAgain): string {
  const { id, sealed } = payloadSchema.parse(JSON.parse(payload));
  return JSON.stringify({ id, sealed: again(PURPOSE, sealed, rowOf(id)) } satisfies QueuedMail);
}

const rowOf = (mailId: string): string => `mail/${mailId}`;

async function sendMail(url: string, mail: ComposedMail, signal: AbortSignal): Promise<void> {
  const { createTransport } = await import("nodemailer");
  signal.throwIfAborted();
  let socket: Socket | undefined;
  const transport = createTransport({
    url,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
    getSocket: (options, done) => {
      socket = connectTo(options, done);
    },
  });
  // The transport would wait for a server that sends a byte now and then for ever.
  const close = () => void socket?.destroy(new Error("the mail took too long to send"));
  signal.addEventListener("abort", close, { once: true });
  try {
    await transport.sendMail({ envelope: mail.envelope, raw: mail.source });
  } catch (error) {
    const { code, responseCode = 0 } = error as { code?: string; responseCode?: number };
    if (code === "EENVELOPE" && responseCode >= 500) {
      throw new PermanentJobError(`the mail server refuses the address (${responseCode})`, error);
    }
    throw error;
  } finally {
    signal.removeEventListener("abort", close);
    close();
  }
}

/** Ports of mail servers: with TLS from the first byte, and without. */
const SMTPS_PORT = 465;
const SUBMISSION_PORT = 587;

/** Connects to the server of a transport, which would keep the socket to itself. */
function connectTo(
  { host, port, secure }: SMTPTransport.Options,
  done: (error: Error | null, options: { connection?: Socket }) => void,
): Socket {
  const socket = connect({
    host: host ?? "localhost",
    port: Number(port) || (secure === true ? SMTPS_PORT : SUBMISSION_PORT),
  });
  const fail = (error: Error) => done(error, {});
  socket.once("error", fail);
  socket.setTimeout(CONNECT_TIMEOUT_MS, () =>
    socket.destroy(new Error("the mail server did not accept the connection in time")),
  );
  socket.once("connect", () => {
    socket.off("error", fail);
    socket.setTimeout(0);
    socket.removeAllListeners("timeout");
    done(null, { connection: socket });
  });
  return socket;
}
