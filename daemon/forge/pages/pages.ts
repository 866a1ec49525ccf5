import { accountPages } from "./account-pages.tsx";
import { codePages } from "./code-pages.tsx";
import { commitPages } from "./commit-pages.tsx";
import { filePages } from "./file-pages.ts";
import { issuePages } from "./issue-pages.tsx";
import { packagePages } from "./package-pages.tsx";
import { passwordResetPages } from "./password-reset-pages.tsx";
import type { PageRoute } from "./page.ts";
import { peoplePages } from "./people-pages.tsx";
import { runPages } from "./run-pages.tsx";
import type { Sessions } from "./sessions.ts";
import { keyPages } from "./tool-pages.ts";

/** Every page of the forge. */
export function forgePages(
  sessions: Sessions,
  keys: Parameters<typeof keyPages>[0],
): readonly PageRoute[] {
  return [
    ...keyPages(keys),
    ...accountPages(sessions),
    ...passwordResetPages(),
    ...peoplePages(),
    ...packagePages(),
    ...runPages(),
    ...issuePages(),
    ...commitPages(),
    ...codePages(),
    ...filePages(),
  ];
}
