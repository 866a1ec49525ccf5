import { z } from "zod";
import {
  BODY_MAX,
  isCommit,
  moment,
  optionalMoment,
  originalAuthor,
  text,
  user,
} from "./source-schemas.ts";
import type {
  FoundReview,
  ReviewedLine,
  ReviewReaders,
  SourceReview,
  SourceReviewLine,
} from "./source-reviews.ts";

// Reviews of pull requests: Gitea and GitHub name their states differently, and their comments on lines differ.

const PATH_MAX = 4_096;
/** Of the part of a diff that a comment on a line is shown with. */
const HUNK_MAX = 16_384;
const commitId = z
  .string()
  .nullish()
  .transform((id) => (isCommit(id) ? id : ""));
const place = z.int().min(0).max(2_000_000_000).nullish();

/** Pending reviews and requests belong to their server. */
type States = Readonly<Record<string, SourceReview["state"] | undefined>>;
const giteaStates: States = {
  APPROVED: "approved",
  REQUEST_CHANGES: "changes_requested",
  COMMENT: "comment",
};
const githubStates: States = {
  APPROVED: "approved",
  CHANGES_REQUESTED: "changes_requested",
  COMMENTED: "comment",
  // Its former verdict is not told.
  DISMISSED: "comment",
};

const stated = z.object({ state: z.string() });
const review = z.object({
  id: z.int().min(1),
  state: z.string(),
  body: text(BODY_MAX),
  user,
  original_author: originalAuthor,
  commit_id: commitId,
  stale: z.boolean().nullish(),
  dismissed: z.boolean().nullish(),
  comments_count: z.number().nullish(),
  submitted_at: moment,
  updated_at: optionalMoment,
});

function readReview(states: States, item: unknown): z.output<typeof review> | undefined {
  // A pending review has no time.
  return states[stated.parse(item).state] === undefined ? undefined : review.parse(item);
}

function toReview(
  states: States,
  found: z.output<typeof review>,
): Omit<SourceReview, "lines" | "isDismissed"> {
  const { submitted_at: createdAt, updated_at: updatedAt = createdAt } = found;
  return {
    state: states[found.state] ?? "comment",
    body: found.body,
    author: found.original_author || found.user,
    commitId: found.commit_id,
    isStale: found.stale === true,
    createdAt,
    updatedAt: Math.max(updatedAt, createdAt),
  };
}

function readGiteaReview(item: unknown): FoundReview | undefined {
  const found = readReview(giteaStates, item);
  return (
    found && {
      id: found.id,
      hasLines: (found.comments_count ?? 0) > 0,
      review: { ...toReview(giteaStates, found), isDismissed: found.dismissed === true },
    }
  );
}

function readGithubReview(item: unknown): FoundReview | undefined {
  const found = readReview(githubStates, item);
  return (
    found && {
      id: found.id,
      hasLines: true,
      review: { ...toReview(githubStates, found), isDismissed: found.state === "DISMISSED" },
    }
  );
}

const lineMembers = {
  path: text(PATH_MAX).pipe(z.string().min(1)),
  body: text(BODY_MAX),
  user,
  commit_id: commitId,
  original_commit_id: commitId,
  diff_hunk: text(HUNK_MAX),
  created_at: moment,
  updated_at: moment,
};

const giteaLine = z
  .object({
    ...lineMembers,
    original_author: originalAuthor,
    resolver: z.object({ login: text(100) }).nullish(),
    position: place,
    original_position: place,
  })
  .transform((found, context): SourceReviewLine => {
    const isNew = (found.position ?? 0) > 0;
    const line = (isNew ? found.position : found.original_position) ?? 0;
    if (line < 1) context.addIssue({ code: "custom", message: "of no line" });
    return {
      ...toLine(found),
      side: isNew ? "new" : "old",
      line,
      author: found.original_author || found.user,
      resolver: found.resolver?.login,
    };
  });

/** A comment on a whole file has no line. The interface does not tell which conversations are resolved. */
const githubLine = z
  .object({
    ...lineMembers,
    pull_request_review_id: z.int().min(1),
    side: z.enum(["LEFT", "RIGHT"]).nullish(),
    line: place,
    original_line: place,
  })
  .transform((found, context): ReviewedLine => {
    // The original line belongs to the original commit.
    const line = found.original_line ?? found.line ?? 0;
    if (line < 1) context.addIssue({ code: "custom", message: "of no line" });
    return {
      reviewId: found.pull_request_review_id,
      line: {
        ...toLine(found),
        side: found.side === "LEFT" ? "old" : "new",
        line,
        author: found.user,
        resolver: undefined,
      },
    };
  });

function toLine(found: {
  readonly path: string;
  readonly body: string;
  readonly commit_id: string;
  readonly original_commit_id: string;
  readonly diff_hunk: string;
  readonly created_at: number;
  readonly updated_at: number;
}) {
  return {
    path: found.path,
    body: found.body,
    commitId: found.original_commit_id || found.commit_id,
    hunk: found.diff_hunk,
    createdAt: found.created_at,
    updatedAt: Math.max(found.updated_at, found.created_at),
  };
}

/** The reviews of Gitea and Forgejo: the comments of each have a list. */
export const giteaReviews: ReviewReaders = {
  path: (number) => `/pulls/${number}/reviews`,
  read: readGiteaReview,
  lines: {
    of: "review",
    path: (number, id) => `/pulls/${number}/reviews/${id}/comments`,
    read: (item) => giteaLine.parse(item),
  },
};

/** The reviews of GitHub: only the list of all comments of a pull request names their lines. */
export const githubReviews: ReviewReaders = {
  path: (number) => `/pulls/${number}/reviews`,
  read: readGithubReview,
  lines: {
    of: "pull",
    path: (number) => `/pulls/${number}/comments`,
    read: (item) => githubLine.parse(item),
  },
};
