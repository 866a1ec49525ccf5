import type { TestAnswer, TestDaemon } from "../daemon.ts";

/** A signed-in person who reads pages and sends their forms. */
export interface PageVisitor {
  get(path: string): Promise<TestAnswer>;
  /** Sends a form as a page does; `form_token` of the fields replaces that of the session. */
  send(
    path: string,
    fields: Readonly<Record<string, string>> | readonly (readonly [string, string])[],
  ): Promise<{
    readonly status: number;
    readonly text: string;
    readonly to: string | null;
    readonly headers: Headers;
  }>;
  /** Sends a form with a file. */
  upload(
    path: string,
    fields: Readonly<Record<string, string>>,
    file: Uint8Array<ArrayBuffer>,
  ): Promise<{ readonly status: number; readonly text: string }>;
}

/** Returns a function that signs a person in at the page. */
export function createPageVisitor(daemon: () => TestDaemon) {
  return async (name: string, password: string, code = ""): Promise<PageVisitor> => {
    const { url } = daemon();
    const answer = await fetch(`${url}/user/login`, {
      method: "POST",
      body: new URLSearchParams({ user_name: name, password, code }),
      redirect: "manual",
      headers: { origin: url },
    });
    const cookie = (answer.headers.getSetCookie()[0] ?? "").split(";")[0] ?? "";
    const get = (path: string) => daemon().request(path, { headers: { cookie } });
    const page = (await get(`/${name}`)).text;
    const token = /name="form_token"[^>]*value="([^"]+)"/.exec(page)?.[1] ?? "";
    return {
      get,
      async upload(path, fields, file) {
        const body = new FormData();
        for (const [field, value] of Object.entries({ form_token: token, ...fields }))
          body.append(field, value);
        body.append("file", new Blob([file]), "file");
        const headers = { cookie, origin: url };
        const init = { method: "POST", body, redirect: "manual", headers } as const;
        const sent = await fetch(`${url}${path}`, init);
        return { status: sent.status, text: await sent.text() };
      },
      async send(path, fields) {
        const body = new URLSearchParams({ form_token: token });
        for (const [field, value] of fields instanceof Array ? fields : Object.entries(fields))
          if (field === "form_token") body.set(field, value);
          else body.append(field, value);
        const sent = await fetch(`${url}${path}`, {
          method: "POST",
          body,
          redirect: "manual",
          headers: { cookie, origin: url },
        });
        const { status, headers } = sent;
        return { status, headers, text: await sent.text(), to: headers.get("location") };
      },
    };
  };
}
