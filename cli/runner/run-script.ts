/**
 * The first argument by which the executable runs a script as Node would, with the further arguments as the script's.
 * Kept in a file of its own: the executable's entry must load nothing else.
 */
export const RUN_SCRIPT = "__run-script";
