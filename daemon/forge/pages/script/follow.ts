/**
 * Runs and pull requests: the rows of a log as they arrive, and a page that loads again when a state has changed, unless a person is
 * filling in one of its forms.
 */
export const FOLLOW = String.raw`
const EVERY_MS = 2000;
const FAILURES_MAX = 30;
const followed = document.querySelector("[data-follow]");
const command = /^(?:\d{4}-\d\d-\d\dT[\d:.]+Z? ?)?(?:::|##\[)(group|endgroup)(?:::|\])(.*)$/;
let next = Number(followed?.dataset.next);
let failures = 0;
let pre = followed?.dataset.inGroup === "yes" ? [...followed.querySelectorAll("pre")].at(-1) : null;

const addRow = (row) => {
  const found = command.exec(row);
  if (found !== null) {
    pre = null;
    if (found[1] === "endgroup") return;
    const group = document.createElement("details");
    const name = document.createElement("summary");
    name.textContent = found[2].trim() === "" ? "Group" : found[2];
    pre = document.createElement("pre");
    pre.tabIndex = 0;
    group.append(name, pre);
    followed.append(group);
    return;
  }
  if (pre === null) {
    pre = document.createElement("pre");
    pre.tabIndex = 0;
    followed.append(pre);
  }
  pre.append((pre.textContent === "" ? "" : "\n") + row);
};

const isFillingIn = () =>
  document.activeElement?.closest("main form") != null ||
  [...document.querySelectorAll("main input[type=file]")].some(({ files }) => files.length > 0);

const look = async () => {
  const answer = await fetch(followed.dataset.follow + "?from=" + next, { credentials: "same-origin" });
  if (!answer.ok) throw new Error("status " + answer.status);
  const { state, rows, next: following } = await answer.json();
  const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 40;
  for (const row of rows) addRow(row);
  next = following;
  if (isAtEnd && rows.length > 0) scrollTo(0, document.documentElement.scrollHeight);
  // The page of another state has other buttons, artifacts and a summary.
  if (state !== followed.dataset.state && rows.length === 0 && !isFillingIn()) location.reload();
};
const follow = async () => {
  try {
    if (!document.hidden) await look();
    failures = 0;
  } catch {
    failures += 1;
  }
  if (failures < FAILURES_MAX) setTimeout(follow, EVERY_MS);
};
if (followed !== null) setTimeout(follow, EVERY_MS);
`;
