/**
 * Whether storages have been seen to write their own properties into files of this name: what they then hold is not what was
 * sent, and good all the same. Everything else that is not as it was sent was damaged.
 */
export function isRewritten(name: string): boolean {
  return /\.(doc|docm|docx|dotx|htm|html|mpp|one|ppt|pptm|pptx|pub|vsd|vsdx|xls|xlsb|xlsm|xlsx)$/i.test(
    name,
  );
}
