import { shareInvitationEndpoints } from "../../contract/vault/invitations.ts";
import { shareEndpoints } from "../../contract/vault/shares.ts";
import { topicEndpoints } from "../../contract/vault/topics.ts";
import type { Route } from "../../http/handle.ts";
import { serve } from "../handle.ts";
import { toPageRequest } from "../page.ts";
import type { Invitations } from "./invitations.service.ts";
import {
  toInvitationPage,
  toInvitationView,
  toSharePage,
  toShareView,
  toTopicView,
} from "./sharing.view.ts";
import type { Shares } from "./shares.service.ts";
import type { Topics } from "./topics.service.ts";

/** Routes of `/api/shares`. */
export const shareRoutes = (shares: Shares): Route[] =>
  serve(shareEndpoints, {
    createShare: async ({ caller, body }) => toShareView(await shares.create(caller, body)),
    listShares: async ({ caller, query }) => {
      const page = toPageRequest(query);
      return toSharePage(await shares.list(caller, "given", page), page);
    },
    listReceivedShares: async ({ caller, query }) => {
      const page = toPageRequest(query);
      return toSharePage(await shares.list(caller, "received", page), page);
    },
    updateShare: async ({ caller, params, body }) =>
      toShareView(await shares.setPermission(caller, params.share_id, body.permission)),
    revokeShare: ({ caller, params }) => shares.revoke(caller, params.share_id),
  });

/** Routes of `/api/shares/invitations`. */
export const invitationRoutes = (invitations: Invitations): Route[] =>
  serve(shareInvitationEndpoints, {
    createInvitation: async ({ caller, body }) =>
      toInvitationView(await invitations.create(caller, body)),
    listInvitations: async ({ caller, query }) => {
      const page = toPageRequest(query);
      return toInvitationPage(await invitations.list(caller, page), page);
    },
    revokeInvitation: ({ caller, params }) => invitations.revoke(caller, params.invitation_id),
    acceptInvitation: ({ body, request }) => invitations.accept(body, request.address),
    claimInvitation: ({ caller, body }) => invitations.claim(caller, body.secret),
  });

/** Routes of `/api/topics` and `/api/admin/topics`. */
export const topicRoutes = (topics: Topics): Route[] => [
  ...serve(topicEndpoints, {
    listTopics: async ({ caller }) => {
      const items = (await topics.list(caller)).map(toTopicView);
      return { items, total: items.length };
    },
    createTopic: async ({ caller, body }) =>
      toTopicView(await topics.create(caller, body, "caller")),
    createSystemTopic: async ({ caller, body }) =>
      toTopicView(await topics.create(caller, body, "system")),
    updateTopic: async ({ caller, params, body }) =>
      toTopicView(await topics.update(caller, params.topic_id, body)),
    deleteTopic: ({ caller, params }) => topics.remove(caller, params.topic_id),
  }),
];
