import { STRENGTH_RULES } from "../../contract/vault/password-rules.ts";
import { createStandalonePage, type StandalonePage } from "../../pages/standalone-page.tsx";

/**
 * The page that a reset link opens: it takes a password twice, shows which rules it meets, and hands it to the API
 * with the token of the link. The token is removed from the address bar at once and sent to the API only.
 */
export async function createResetPage(instanceName: string): Promise<StandalonePage> {
  return createStandalonePage({
    title: `Choose a password: ${instanceName}`,
    script: SCRIPT,
    body: (
      <>
        <h1>{`Choose a password for ${instanceName}`}</h1>
        <noscript>
          <p>
            This page needs JavaScript to hand your password over. Without it, use the command line:{" "}
            <code>croft vault password confirm</code>
          </p>
        </noscript>
        <p id="done" className="success" role="status" tabIndex={-1} hidden />
        <form
          id="form"
          className="stack"
          method="post"
          action="../api/auth/password-reset/confirm"
          noValidate
        >
          <label>
            New password
            <input
              id="password"
              name="new_password"
              type="password"
              autoComplete="new-password"
              required
              aria-describedby="rules problem"
            />
          </label>
          <div id="rules">
            <ul className="rules" aria-label="A password has">
              {STRENGTH_RULES.map(({ wish }) => (
                <li key={wish} data-met="no">
                  {wish}
                  <span hidden>, met</span>
                </li>
              ))}
            </ul>
          </div>
          <label>
            New password again
            <input
              id="again"
              type="password"
              autoComplete="new-password"
              required
              aria-describedby="problem"
            />
          </label>
          <label className="check">
            <input id="show" type="checkbox" /> Show passwords
          </label>
          <p id="problem" className="error" role="alert" />
          <div>
            <button id="send" type="submit" className="primary" disabled>
              Set password
            </button>
          </div>
        </form>
      </>
    ),
  });
}

/** The page of a link that was used, has expired or was replaced by a newer one. */
export async function createSpentPage(instanceName: string): Promise<StandalonePage> {
  return createStandalonePage({
    title: `Choose a password: ${instanceName}`,
    // The address bar and the history must not keep the token.
    script: `history.replaceState(null, "", location.pathname);`,
    body: (
      <>
        <h1>This link no longer works</h1>
        <p>
          It was used, has expired, or a newer one was sent. Ask for another one:{" "}
          <code>croft vault password reset --email ADDRESS</code>
        </p>
      </>
    ),
  });
}

/** The rules for the page's script: the same patterns with which the API validates a password. */
const RULES = JSON.stringify(STRENGTH_RULES.map(({ pattern }) => [pattern.source, pattern.flags]));

const SCRIPT = `
const byId = (id) => document.getElementById(id);
const form = byId("form"), password = byId("password"), again = byId("again"), send = byId("send"), problem = byId("problem"), done = byId("done");
const patterns = ${RULES}.map(([source, flags]) => new RegExp(source, flags));
const items = [...document.querySelectorAll("#rules li")];
const api = new URL("../api/auth/password-reset/confirm", location.href);
const token = new URLSearchParams(location.search).get("token");
history.replaceState(null, "", location.pathname);

const meets = (value) => patterns.map((pattern) => pattern.test(value.normalize("NFC")));
const complain = (text, field) => {
  problem.textContent = text;
  for (const each of [password, again]) each.removeAttribute("aria-invalid");
  field?.setAttribute("aria-invalid", "true");
  field?.focus();
};
const show = () => {
  meets(password.value).forEach((met, index) => {
    items[index].dataset.met = met ? "yes" : "no";
    items[index].firstElementChild.hidden = !met;
  });
};
const textOf = (detail) => (Array.isArray(detail) ? detail.map((each) => each.msg).join(". ") : detail);

password.addEventListener("input", show);
byId("show").addEventListener("change", (event) => {
  for (const field of [password, again]) field.type = event.target.checked ? "text" : "password";
});
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (meets(password.value).includes(false)) return complain("This password does not meet all rules yet.", password);
  if (password.value !== again.value) return complain("The two passwords differ.", again);
  complain("");
  send.disabled = true;
  try {
    const response = await fetch(api, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token, new_password: password.value }),
      credentials: "omit",
      redirect: "error",
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(textOf(answer.detail));
    form.hidden = true;
    done.textContent = answer.message;
    done.hidden = false;
    done.focus();
  } catch (error) {
    complain(error instanceof TypeError ? "The server does not answer. Try again in a moment." : error.message, password);
  } finally {
    send.disabled = false;
  }
});

if (token === null || token === "") complain("This link is incomplete. Open it once more from the mail.");
else send.disabled = false;
`;
