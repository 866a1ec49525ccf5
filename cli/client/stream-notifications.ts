import type { streamNotifications as streamNotificationsEndpoint } from "../../daemon/contract/forge/notifications.ts";
import { operation } from "./operation.ts";

/** What `followThreads` calls; commands that follow threads name it among their operations. */
export const streamNotifications = operation<typeof streamNotificationsEndpoint>(
  "forge.notifications.stream",
  "GET",
  "/api/v1/notifications/stream",
);
