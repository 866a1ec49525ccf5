import { googleDrive } from "./google-drive/provider.ts";
import { dropbox } from "./dropbox/provider.ts";
import { localFolder } from "./local-folder/provider.ts";
import { oneDrive } from "./onedrive/provider.ts";
import type { CloudProviderType } from "./provider.ts";
import { s3 } from "./s3/provider.ts";

/** Every kind of storage that croft can connect. A new adapter is one folder, one line here and one run of the suite. */
export const cloudProviderTypes: readonly CloudProviderType[] = [
  localFolder,
  oneDrive,
  dropbox,
  googleDrive,
  s3,
];
