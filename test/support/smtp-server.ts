import type { AddressInfo } from "node:net";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

/** A mail as the server got it. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: string[];
  readonly source: string;
}

/** A real SMTP server on loopback that records the mails it receives. */
export async function startSmtpServer(options: SMTPServerOptions = {}) {
  const received: ReceivedMail[] = [];
  const server = new SMTPServer({
    disabledCommands: ["STARTTLS"],
    authOptional: true,
    logger: false,
    onData(stream, session, done) {
      const parts: Buffer[] = [];
      stream.on("data", (part: Buffer) => parts.push(part));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map((recipient) => recipient.address),
          source: Buffer.concat(parts).toString(),
        });
        done();
      });
    },
    ...options,
  });
  const listening = Promise.withResolvers<void>();
  const listener = server.listen(0, "127.0.0.1", () => listening.resolve());
  await listening.promise;
  const { port } = listener.address() as AddressInfo;
  const close = () => {
    const closed = Promise.withResolvers<void>();
    server.close(() => closed.resolve());
    return closed.promise;
  };
  return { received, port, url: `smtp://127.0.0.1:${port}`, close };
}
