import { accountPages } from "./account-pages.tsx";
import { codePages } from "./code-pages.tsx";
import { commitPages } from "./commit-pages.tsx";
import { filePages } from "./file-pages.ts";
import { issuePages } from "./issue-pages.tsx";
import { otherPages } from "./other-pages.tsx";
import { passwordResetPages } from "./password-reset-pages.tsx";
import type { PageRoute } from "./page.ts";
import { peoplePages } from "./people-pages.tsx";
import type { Sessions } from "./sessions.ts";

/** Every page of the forge. */
export function forgePages(sessions: Sessions): readonly PageRoute[] {
  return [
    ...accountPages(sessions),
    ...passwordResetPages(),
    ...peoplePages(),
    ...otherPages(),
    ...issuePages(),
    ...commitPages(),
    ...codePages(),
    ...filePages(),
  ];
}
