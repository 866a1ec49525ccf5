import { Time } from "../../../pages/elements.tsx";
import type { ForgePageRoute } from "../forge-page.ts";
import type { Sessions } from "../sessions.ts";
import { ofAccount } from "./own-settings.tsx";
import { ActionForm, Entries, readText } from "./settings-form.tsx";
import { settingsPage } from "./settings-page.tsx";

/** The sessions of the signed-in account, each with its browser, address and last use. */
export function sessionPages(sessions: Sessions): ForgePageRoute[] {
  return settingsPage(ofAccount, {
    at: "sessions",
    title: "Sessions",
    async show(view) {
      const all = await sessions.list(view.session);
      return (
        <>
          <p>
            The browsers that are signed in. End those that you do not know, and change your
            password then.
          </p>
          <Entries
            view={view}
            label="Sessions"
            empty="No sessions."
            entries={all.map(({ id, userAgent, address, createdAt, usedAt, isCurrent }) => ({
              key: id,
              name: <bdi title={userAgent}>{toBrowserName(userAgent)}</bdi>,
              note: (
                <>
                  {isCurrent ? "this browser · " : ""}
                  {address === "" ? "" : `from ${address} · `}last used{" "}
                  <Time at={new Date(usedAt ?? createdAt).toISOString()} /> · signed in{" "}
                  <Time at={new Date(createdAt).toISOString()} />
                </>
              ),
              tools: isCurrent ? undefined : (
                <ActionForm view={view} action="end" submit="End" hidden={{ id }} isInline />
              ),
            }))}
          />
          {all.length > 1 ? (
            <ActionForm
              view={view}
              action="end_others"
              submit="End all other sessions"
              tone="danger"
            />
          ) : null}
        </>
      );
    },
    actions: {
      end: (request) => sessions.end(request.session, readText(request, "id")),
      end_others: (request) => sessions.endOthers(request.session),
    },
  });
}

/** Names of browsers and systems by words of `User-Agent`; the first match counts, because most claim to be others as well. */
const browsers = [
  ["Edg", "Edge"],
  ["OPR", "Opera"],
  ["Firefox", "Firefox"],
  ["HeadlessChrome", "Chrome"],
  ["Chrome", "Chrome"],
  ["Safari", "Safari"],
] as const;
const systems = [
  ["Android", "Android"],
  ["iPhone", "iPhone"],
  ["iPad", "iPad"],
  ["Windows", "Windows"],
  ["Mac OS", "macOS"],
  ["CrOS", "ChromeOS"],
  ["Linux", "Linux"],
] as const;

/** Returns the name of a browser for people: `Firefox on Linux`, or what it says of itself. */
function toBrowserName(userAgent: string): string {
  const [, browser] = browsers.find(([word]) => userAgent.includes(`${word}/`)) ?? [];
  const [, system] = systems.find(([word]) => userAgent.includes(word)) ?? [];
  if (browser === undefined) return userAgent === "" ? "Unknown browser" : userAgent.slice(0, 60);
  return system === undefined ? browser : `${browser} on ${system}`;
}
