import { reviewEndpoints } from "../../contract/forge/pulls/reviews.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { ApplySuggestions } from "./apply-suggestions.ts";
import {
  toFilter,
  toNewReview,
  toReviewers,
  toReviewLineView,
  toReviewView,
  toVerdict,
} from "./review.view.ts";
import type { ReviewLines } from "./review-lines.service.ts";
import type { ReviewRequests } from "./review-requests.service.ts";
import type { ReviewDetails, Reviews } from "./reviews.service.ts";

export interface ReviewRoutesDeps {
  readonly reviews: Reviews;
  readonly requests: ReviewRequests;
  readonly lines: ReviewLines;
  readonly applySuggestions: ApplySuggestions;
  readonly urls: ForgeUrls;
}

export function reviewRoutes(deps: ReviewRoutesDeps): Route[] {
  const { reviews, requests, lines, applySuggestions, urls } = deps;
  const show = (details: ReviewDetails) => toReviewView(details, urls);
  return serve(reviewEndpoints, {
    listReviews: async ({ opened, params, query }) => {
      const { reviews: found, total } = await reviews.list(opened, params.index, query);
      return page(found.map(show), total);
    },
    createReview: async ({ opened, caller, params, body }) =>
      show(await reviews.create(opened, caller, params.index, toNewReview(body))),
    getReview: async ({ opened, params }) => show(await reviews.get(opened, params)),
    submitReview: async ({ opened, caller, params, body }) =>
      show(await reviews.submit(opened, caller, params, toVerdict(body))),
    deleteReview: ({ opened, caller, params }) => reviews.remove(opened, caller, params),
    listReviewLines: async ({ opened, params }) =>
      (await lines.list(opened, params)).map((line) => toReviewLineView(line, urls)),
    listPullReviewLines: async ({ opened, params, query }) => {
      const { lines: found, total } = await lines.listOfPull(opened, params.index, toFilter(query));
      return page(
        found.map((line) => toReviewLineView(line, urls)),
        total,
      );
    },
    dismissReview: async ({ opened, caller, params, body }) => {
      const wish = { message: body.message ?? "", isWithPriors: body.priors === true };
      return show(await reviews.dismiss(opened, caller, params, wish));
    },
    undismissReview: async ({ opened, caller, params }) =>
      show(await reviews.undismiss(opened, caller, params)),
    requestReviews: async ({ opened, caller, params, body }) =>
      (await requests.add(opened, caller, params.index, toReviewers(body))).map(show),
    cancelReviewRequests: ({ opened, caller, params, body }) =>
      requests.remove(opened, caller, params.index, toReviewers(body)),
    applySuggestions: async ({ opened, caller, params, body, request: { signal } }) => {
      const { comments: commentIds, message } = body;
      const wish = { number: params.index, commentIds, message: message ?? "", signal };
      return { sha: await applySuggestions(opened, caller, wish) };
    },
    replyToReviewLine: async ({ opened, caller, params, body }) =>
      toReviewLineView(await lines.reply(opened, caller, params, body.body), urls),
    resolveReviewLine: ({ opened, caller, params }) =>
      lines.setResolved(opened, caller, params.id, true),
    unresolveReviewLine: ({ opened, caller, params }) =>
      lines.setResolved(opened, caller, params.id, false),
  });
}
