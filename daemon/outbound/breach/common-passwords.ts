/**
 * Whether a password is among the 49,000 most common ones, whatever its case. The list is loaded at the first call:
 * with a look-up that answers it is never needed.
 */
export function createCommonPasswords(): (password: string) => Promise<boolean> {
  let list: Promise<ReadonlySet<string>> | undefined;
  return async (password) => {
    list ??= loadList();
    return (await list).has(password.toLowerCase());
  };
}

async function loadList(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"]);
}
