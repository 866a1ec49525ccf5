import type { TestAnswer, TestDaemon } from "../daemon.ts";
import { STRONG } from "./vault-accounts.ts";

/** A browser without scripts on the pages of the vault: it keeps the cookie and sends forms with their token. */
export interface PageBrowser {
  /** The value of the cookie; empty without one. */
  cookie: string;
  /** The header of the last response that set or cleared the cookie. */
  setCookie: string;
  open(path: string): Promise<TestAnswer>;
  /** Sends a form of the page at `from`, with its token. */
  submit(
    path: string,
    fields: Readonly<Record<string, string>>,
    from?: string,
  ): Promise<TestAnswer>;
  /** Sends a form with files, and with its token unless `fields` has another one. */
  sendFiles(
    path: string,
    files: readonly (readonly [name: string, content: string])[],
    fields?: Readonly<Record<string, string>>,
  ): Promise<TestAnswer>;
  signIn(email: string, more?: Readonly<Record<string, string>>): Promise<TestAnswer>;
  /** Returns the token of the forms of this session. */
  formToken(): Promise<string>;
}

/** Creates a browser. `address` separates its limits from those of others. */
export function createPageBrowser(
  daemon: Pick<TestDaemon, "request" | "url">,
  address: string,
): PageBrowser {
  const browser: PageBrowser = {
    cookie: "",
    setCookie: "",
    open: (path) => send(path, {}),
    async submit(path, fields, from = "/vault") {
      const token = browser.cookie === "" ? {} : { form_token: await browser.formToken() };
      return send(path, {
        method: "POST",
        body: new URLSearchParams({ ...token, ...fields }).toString(),
        headers: {
          "Content-Type": "application/x-www-form-urlencoded",
          "Sec-Fetch-Site": "same-origin",
          Referer: `${daemon.url}${from}`,
        },
      });
    },
    async sendFiles(path, files, fields = {}) {
      const form = new FormData();
      form.append("form_token", fields["form_token"] ?? (await browser.formToken()));
      for (const [name, value] of Object.entries({ action: "upload", ...fields }))
        if (name !== "form_token") form.append(name, value);
      for (const [name, content] of files) form.append("file", new Blob([content]), name);
      return send(path, { method: "POST", body: form });
    },
    signIn: (email, more = {}) =>
      browser.submit("/vault/sign-in", { email, password: STRONG, to: "/vault", ...more }),
    async formToken() {
      // The header of each page has a form, also where the page is missing.
      const { text } = await browser.open("/vault/account");
      return /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? "";
    },
  };
  return browser;

  async function send(
    path: string,
    init: {
      readonly method?: string;
      readonly body?: string | FormData;
      readonly headers?: Record<string, string>;
    },
  ): Promise<TestAnswer> {
    const cookie = browser.cookie === "" ? {} : { Cookie: `croft_vault_session=${browser.cookie}` };
    const headers = {
      Accept: "text/html",
      "X-Forwarded-For": address,
      ...cookie,
      ...init.headers,
    };
    const answer = await daemon.request(path, { ...init, headers });
    const set = answer.headers.get("set-cookie");
    if (set !== null) {
      browser.setCookie = set;
      browser.cookie = /croft_vault_session=([^;]*)/.exec(set)?.[1] ?? "";
    }
    return answer;
  }
}
