import type { SlackOptions } from "../../../storage/tables/forge/hooks/hooks.ts";
import type { ChatLine, ChatMessage } from "./chat-message.ts";

/**
 * Returns the request body of a chat service. Texts are escaped for its markup, so that the name of a branch cannot inject
 * links, mentions or markup.
 * @throws Error for a kind that is not a chat service
 */
export function toChatBody(
  kind: string,
  message: ChatMessage,
  slack: SlackOptions | undefined,
): object {
  switch (kind) {
    case "slack":
      return toSlack(message, slack);
    case "discord":
      return toDiscord(message);
    case "telegram":
      return {
        text: toHtml(message, "\n"),
        parse_mode: "HTML",
        disable_web_page_preview: true,
      };
    case "matrix":
      return {
        body: toPlainText(message),
        msgtype: "m.notice",
        // A name in a commit must not mention anyone.
        "m.mentions": {},
        format: "org.matrix.custom.html",
        formatted_body: toHtml(message, "<br>"),
      };
    case "msteams":
      return toTeams(message);
    case "dingtalk":
      return {
        msgtype: "actionCard",
        actionCard: {
          text: toMarkdown(message, "\n\n"),
          title: message.title,
          hideAvatar: "0",
          singleTitle: "view",
          singleURL: message.url,
        },
      };
    case "feishu":
      // Texts have no markup except mentions, which are elements.
      return { msg_type: "text", content: { text: toPlainText(message).replaceAll("<", "＜") } };
    case "wechatwork":
      return { msgtype: "markdown", markdown: { content: toMarkdown(message, "\n") } };
    default:
      throw new Error(`${kind} is not a chat service`);
  }
}

function toSlack(
  { title, url, lines, color }: ChatMessage,
  slack: SlackOptions | undefined,
): object {
  const link = (address: string, text: string) =>
    address === ""
      ? escapeSlack(text)
      : `<${address.replace(/[<>|]/g, encodeURIComponent)}|${escapeSlack(text)}>`;
  const text = lines.map((line) => `${link(line.url, line.label)}: ${escapeSlack(line.text)}`);
  return {
    channel: slack?.channel ?? "",
    text: link(url, title),
    username: slack?.username ?? "",
    icon_url: slack?.iconUrl ?? "",
    unfurl_links: 0,
    link_names: 0,
    attachments:
      text.length === 0
        ? []
        : [
            {
              fallback: title,
              color: slack?.color === undefined || slack.color === "" ? `#${color}` : slack.color,
              text: text.join("\n"),
              mrkdwn_in: [],
            },
          ],
  };
}

function toDiscord({ title, url, lines, sender, color }: ChatMessage): object {
  return {
    content: "",
    // A name in a commit must not mention anyone.
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: cut(title, 256),
        description: cut(lines.map(toMarkdownLine).join("\n"), 4096),
        url,
        color: Number.parseInt(color, 16),
        author: { name: cut(sender.name, 256), url: sender.url, icon_url: sender.avatarUrl },
      },
    ],
  };
}

function toTeams({ title, url, lines, sender, color }: ChatMessage): object {
  return {
    "@type": "MessageCard",
    "@context": "https://schema.org/extensions",
    themeColor: color,
    title: escapeMarkdown(title),
    summary: title,
    sections: [
      {
        activityTitle: escapeMarkdown(sender.name),
        activityImage: sender.avatarUrl,
        text: lines.map(toMarkdownLine).join("\n\n"),
      },
    ],
    potentialAction: [{ "@type": "OpenUri", name: "View", targets: [{ os: "default", uri: url }] }],
  };
}

function toPlainText({ title, url, lines }: ChatMessage): string {
  return [title, url, ...lines.map(({ label, text }) => `${label}: ${text}`)]
    .filter((line) => line !== "")
    .join("\n");
}

function toHtml({ title, url, lines }: ChatMessage, lineBreak: string): string {
  const link = (address: string, text: string) =>
    address === "" ? escapeHtml(text) : `<a href="${escapeHtml(address)}">${escapeHtml(text)}</a>`;
  return [
    link(url, title),
    ...lines.map((line) => `${link(line.url, line.label)}: ${escapeHtml(line.text)}`),
  ].join(lineBreak);
}

function toMarkdown({ title, url, lines }: ChatMessage, lineBreak: string): string {
  return [toMarkdownLink(title, url), ...lines.map(toMarkdownLine)].join(lineBreak);
}

function toMarkdownLine({ label, url, text }: ChatLine): string {
  return `${toMarkdownLink(label, url)}: ${escapeMarkdown(text)}`;
}

function toMarkdownLink(text: string, url: string): string {
  const shown = escapeMarkdown(text);
  return url === ""
    ? shown
    : `[${shown}](${url.replace(/[()\s<>]/g, (each) => `%${each.charCodeAt(0).toString(16)}`)})`;
}

function escapeSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function escapeHtml(text: string): string {
  return escapeSlack(text).replaceAll('"', "&quot;");
}

function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-!|<>~@]/g, "\\$&");
}

function cut(text: string, charactersMax: number): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax - 1).toWellFormed()}…` : text;
}
