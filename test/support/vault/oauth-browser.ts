import { expect } from "vitest";
import type { TestAnswer, TestDaemon } from "../daemon.ts";

/** The choices of the user on the vendor's consent page. */
export interface Consent {
  readonly decision?: string;
  /** The first account that the page offers when absent. */
  readonly account?: string;
  /** All requested scopes when absent. */
  readonly scopes?: readonly string[];
}

/** A browser with its cookies, as far as signing in at a vendor needs one. */
export interface OauthBrowser {
  /** Opens croft's start page; returns the vendor's address that it redirects to. */
  start(authorizationUrl: string): Promise<string>;
  /** Decides at the vendor's page; returns the address that the vendor sends the browser back to. */
  decide(vendorUrl: string, consent?: Consent): Promise<URL>;
  /** Opens an address of the daemon with the cookies that belong to it. */
  open(address: URL): Promise<TestAnswer>;
  /** Presses the button of the page that `open` returned. */
  press(page: TestAnswer, address: URL): Promise<TestAnswer>;
  /** All of it: from the start page to the page after the button. */
  signIn(authorizationUrl: string, consent?: Consent): Promise<TestAnswer>;
}

const HEADERS = { "X-Forwarded-For": "192.0.2.9" };

/** Opens a browser without any cookie. */
export function openOauthBrowser(daemon: TestDaemon): OauthBrowser {
  const cookies = new Map<string, { readonly value: string; readonly path: string }>();
  const cookieHeader = (path: string) => {
    const pairs = [...cookies].filter(([, cookie]) => path.startsWith(cookie.path));
    return pairs.map(([name, { value }]) => `${name}=${value}`).join("; ");
  };
  const send = async (path: string, body?: FormData) => {
    const answer = await daemon.request(path, {
      headers: { ...HEADERS, Cookie: cookieHeader(path) },
      ...(body === undefined ? {} : { body }),
    });
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, { value, path: /Path=([^;]*)/.exec(cookie)?.[1] ?? "/" });
    }
    return answer;
  };

  const browser: OauthBrowser = {
    async start(authorizationUrl) {
      const { pathname } = new URL(authorizationUrl);
      const answer = await send(pathname);
      expect([answer.status, answer.text]).toEqual([302, ""]);
      return answer.headers.get("location") ?? "";
    },

    async decide(vendorUrl, { decision = "allow", account, scopes } = {}) {
      const page = await fetch(vendorUrl);
      const html = await page.text();
      expect([page.status, html]).toEqual([200, expect.stringContaining("<form")]);
      const offered = /name="account" value="([^"]*)"/.exec(html)?.[1] ?? "";
      const body = new URLSearchParams({ decision, account: account ?? offered });
      const asked = [...html.matchAll(/name="scope" value="([^"]*)"/g)].map(
        ([, scope = ""]) => scope,
      );
      for (const scope of scopes ?? asked) body.append("scope", scope);
      const answer = await fetch(vendorUrl, { method: "POST", body, redirect: "manual" });
      return new URL(answer.headers.get("location") ?? "");
    },

    open: ({ pathname, search }) => send(pathname + search),

    press(page, { pathname }) {
      const body = new FormData();
      for (const [, name = "", value = ""] of page.text.matchAll(
        /type="hidden" name="([^"]*)" value="([^"]*)"/g,
      ))
        body.set(name, value);
      return send(pathname, body);
    },

    async signIn(authorizationUrl, consent) {
      const back = await browser.decide(await browser.start(authorizationUrl), consent);
      const page = await browser.open(back);
      return page.status === 200 ? browser.press(page, back) : page;
    },
  };
  return browser;
}
