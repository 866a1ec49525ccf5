import { googleDrive } from "./google-drive/provider.ts";
import { dropbox } from "./dropbox/provider.ts";
import { localFolder } from "./local-folder/provider.ts";
import { nextcloud } from "./nextcloud/provider.ts";
import { oneDrive } from "./onedrive/provider.ts";
import type { CloudProviderType } from "./provider.ts";
import { s3 } from "./s3/provider.ts";
import { webdav } from "./webdav/provider.ts";

/** All provider types. A new adapter is one folder, one line here and one run of the suite. */
export const cloudProviderTypes: readonly CloudProviderType[] = [
  localFolder,
  webdav,
  nextcloud,
  oneDrive,
  dropbox,
  googleDrive,
  s3,
];
