import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { toOutgoing } from "../../../../../daemon/forge/hooks/outgoing.ts";
import { hookTypes } from "../../../../../daemon/contract/forge/hooks/fields.ts";
import type { ForgeHook } from "../../../../../storage/tables/forge/hooks/hooks.ts";

const sender = {
  login: "mira",
  html_url: "http://croft.example/mira",
  avatar_url: "http://croft.example/avatars/1",
};
const repository = { full_name: "mira/cabin", html_url: "http://croft.example/mira/cabin" };
const evil = "<!channel> @everyone [x](http://evil) <a href=x>`*_";
const push = {
  ref: "refs/heads/main",
  compare_url: "http://croft.example/mira/cabin/compare/a...b",
  total_commits: 2,
  commits: [
    {
      id: "aaaaaaaaaaaa",
      message: `${evil}\n\nbody`,
      url: "http://croft.example/c/a",
      author: { name: "Mira" },
    },
    {
      id: "bbbbbbbbbbbb",
      message: "Second",
      url: "http://croft.example/c/b",
      author: { name: "Nora" },
    },
  ],
  repository,
  sender,
};

function outgoing(kind: string, event: string, payload: object, secret = "") {
  const hook: ForgeHook = {
    id: 1 as ForgeHook["id"],
    scope: "system",
    repositoryId: undefined,
    ownerId: undefined,
    kind,
    name: "",
    sealedTarget: "",
    contentType: "json",
    events: [event],
    branchFilter: "",
    slack:
      kind === "slack"
        ? { channel: "#build", username: "croft", iconUrl: "", color: "" }
        : undefined,
    isActive: true,
    createdAt: 0,
    updatedAt: 0,
  };
  const target = { url: "http://chat.example/hook", secret, authorizationHeader: "" };
  const made = toOutgoing(
    hook,
    target,
    { event, payload: JSON.stringify(payload) },
    1_700_000_000_000,
  );
  return made && { ...made, json: JSON.parse(made.body) };
}

describe("chat services", () => {
  const chat = hookTypes.filter((type) => !["gitea", "gogs", "packagist"].includes(type));

  test.each(chat)(
    "%s gets a message about a push, with the markup of its texts escaped",
    (kind) => {
      const made = outgoing(kind, "push", push);
      expect(made?.contentType).toBe("application/json");
      expect(made?.signed).toBe(made?.body);
      expect(made?.body).toContain("2 new commits pushed by mira");
      expect(made?.body).toContain("aaaaaaa");
      // Plain text has no markup to escape from; each other service has its own.
      const markup = kind === "matrix" ? made?.json.formatted_body : made?.body;
      if (["slack", "telegram", "matrix"].includes(kind)) {
        expect(markup).not.toContain("<!channel>");
        expect(markup).not.toContain("<a href=x>");
      } else if (kind !== "feishu") expect(markup).not.toContain("[x](http://evil)");
    },
  );

  test.each(chat)(
    "%s gets messages about repositories, branches, organizations and packages",
    (kind) => {
      const cases = [
        ["repository", { action: "created", repository, sender }, "Repository created"],
        ["create", { ref: "dev", ref_type: "branch", repository, sender }, "branch dev created"],
        ["delete", { ref: "v1", ref_type: "tag", repository, sender }, "tag v1 deleted"],
        [
          "organization",
          { action: "created", organization: { username: "league" }, sender },
          "Organization league",
        ],
        [
          "package",
          { action: "created", package: { name: "thing", version: "1" }, sender },
          "Package thing:1 created",
        ],
      ] as const;
      for (const [event, payload, words] of cases)
        expect(outgoing(kind, event, payload)?.body, event).toContain(words);
    },
  );

  test.each(chat)("%s gets messages about runs and jobs of workflows", (kind) => {
    const shown = { html_url: "http://croft.example/run", status: "in_progress" };
    const run = { ...shown, run_number: 12 };
    const workflow = { name: "CI" };
    const text = (event: string, payload: object) =>
      outgoing(kind, event, { repository, sender, workflow, ...payload })?.body.replaceAll(
        "\\",
        "",
      );
    expect(text("workflow_run", { workflow_run: run })).toContain("#12: in progress, started by");
    const ended = { ...run, status: "completed", conclusion: "failure" };
    expect(text("workflow_run", { workflow_run: ended })).toContain("#12: failure, started by");
    const job = { ...shown, name: "test (1)", head_sha: "aaaaaaaaaaaa" };
    expect(text("workflow_job", { workflow_job: job })).toContain(
      "Job test (1) of aaaaaaa: in progress",
    );
  });

  test.each(chat)("%s gets no message about an undocumented event", (kind) =>
    expect(outgoing(kind, "fork", { sender })).toBeUndefined(),
  );

  test("a Slack hook gets links, the channel and an attachment", () =>
    expect(outgoing("slack", "push", push)?.json).toMatchObject({
      channel: "#build",
      username: "croft",
      text: "<http://croft.example/mira/cabin/compare/a...b|[mira/cabin:main] 2 new commits pushed by mira>",
      attachments: [
        {
          color: "#0052cc",
          text: expect.stringContaining("<http://croft.example/c/b|bbbbbbb>: Second - Nora"),
        },
      ],
    }));

  test("a message for discord mentions no users", () =>
    expect(outgoing("discord", "push", push)?.json).toMatchObject({
      allowed_mentions: { parse: [] },
      embeds: [
        {
          title: "[mira/cabin:main] 2 new commits pushed by mira",
          color: 0x0052cc,
          author: { name: "mira" },
        },
      ],
    }));

  test("a Telegram hook gets escaped HTML", () => {
    const { json } = outgoing("telegram", "push", push) ?? {};
    expect(json).toMatchObject({ parse_mode: "HTML", disable_web_page_preview: true });
    expect(json.text).toContain("&lt;!channel&gt;");
  });

  test("a Matrix message has a transaction id derived from the payload", () => {
    const made = outgoing("matrix", "push", push);
    const transaction = createHash("sha1").update(JSON.stringify(push)).digest("hex");
    expect(made).toMatchObject({ method: "PUT", url: `http://chat.example/hook/${transaction}` });
    expect(made?.json).toMatchObject({ msgtype: "m.notice", format: "org.matrix.custom.html" });
    expect(made?.json.formatted_body).not.toContain("<a href=x>");
  });

  test("a Feishu message is signed when the hook has a secret", () => {
    expect(outgoing("feishu", "push", push)?.json).not.toHaveProperty("sign");
    expect(outgoing("feishu", "push", push, "secret")?.json).toMatchObject({
      timestamp: "1700000000",
      sign: expect.stringMatching(/^[\w+/]{43}=$/),
      msg_type: "text",
    });
  });

  test("a commit mentions no users in feishu and matrix", () => {
    const commits = [{ ...push.commits[0], message: '<at user_id="all"></at> @room' }];
    expect(outgoing("feishu", "push", { ...push, commits })?.json.content.text).not.toContain(
      "<at",
    );
    expect(outgoing("matrix", "push", { ...push, commits })?.json["m.mentions"]).toEqual({});
  });

  test("hooks of Teams, DingTalk and WeCom get their cards", () => {
    expect(outgoing("msteams", "push", push)?.json).toMatchObject({
      "@type": "MessageCard",
      themeColor: "0052cc",
    });
    expect(outgoing("dingtalk", "push", push)?.json).toMatchObject({ msgtype: "actionCard" });
    expect(outgoing("wechatwork", "push", push)?.json).toMatchObject({ msgtype: "markdown" });
  });
});

test("Packagist hooks receive only pushes", () => {
  expect(outgoing("packagist", "push", push)?.json).toEqual({
    repository: { url: repository.html_url },
  });
  expect(
    outgoing("packagist", "repository", { action: "created", repository, sender }),
  ).toBeUndefined();
});

test("hooks of kind gogs and gitea get the payload unchanged", () => {
  for (const kind of ["gitea", "gogs"])
    expect(outgoing(kind, "push", push)?.body).toBe(JSON.stringify(push));
});
