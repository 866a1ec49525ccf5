import type { MailMessage } from "./compose.ts";

/** Makes the mail with the link on which an invited person chooses a password. */
export function toInvitationMail({
  to,
  name,
  fullName = "",
  link,
  instanceName,
}: {
  readonly to: string;
  readonly name: string;
  readonly fullName?: string;
  readonly link: string;
  readonly instanceName: string;
}): Pick<MailMessage, "to" | "subject" | "text"> {
  return {
    to,
    subject: `Your account on ${instanceName}`,
    text: [
      `Hello ${fullName === "" ? name : fullName},`,
      "",
      `an administrator of ${instanceName} made an account for you.`,
      "",
      `User name: ${name}`,
      "",
      "Choose your password here:",
      link,
      "",
      "The link works once and for seven days. After that, ask the administrator for another one.",
      "",
    ].join("\n"),
  };
}
