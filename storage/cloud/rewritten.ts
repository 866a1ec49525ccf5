/**
 * Returns whether some storages embed their own properties into files of this name: their stored bytes then differ from the
 * uploaded ones and are still valid. Any other difference means damage.
 */
export function isRewritten(name: string): boolean {
  return /\.(doc|docm|docx|dotx|htm|html|mpp|one|ppt|pptm|pptx|pub|vsd|vsdx|xls|xlsb|xlsm|xlsx)$/i.test(
    name,
  );
}
