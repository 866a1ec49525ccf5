import type { TestAnswer, TestDaemon } from "./daemon.ts";

/** A browser on the pages of a sign-in by a provider: it keeps its cookies. */
export function createOpenidVisitor(daemon: TestDaemon, start: string) {
  const cookies = new Map<string, string>();
  return { cookies, open, post, begin, comeBack };

  async function send(path: string, init: Parameters<TestDaemon["request"]>[1] = {}) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { Accept: "text/html", Cookie: cookie, ...init.headers };
    const answer = await daemon.request(path, { ...init, headers });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    return answer;
  }

  function open(path: string): Promise<TestAnswer> {
    return send(path);
  }

  function post(
    path: string,
    fields: Readonly<Record<string, string>>,
    site = "same-origin",
  ): Promise<TestAnswer> {
    return send(path, {
      method: "POST",
      headers: { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": site },
      body: new URLSearchParams(fields).toString(),
    });
  }

  /** Presses the button of the provider. Returns its address, to which the page leads. */
  async function begin(fields: Readonly<Record<string, string>> = {}): Promise<URL> {
    const answer = await post(start, fields);
    const href =
      /<a href="([^"]+)"/.exec(answer.text.slice(answer.text.indexOf("<main")))?.[1] ?? "";
    return new URL(href.replaceAll("&amp;", "&"));
  }

  /** The provider sends the browser back. */
  function comeBack(query: Readonly<Record<string, string>>): Promise<TestAnswer> {
    return send(`${start}/callback?${new URLSearchParams(query)}`);
  }
}
