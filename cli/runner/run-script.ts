/**
 * The first argument by which the executable runs a script as Node would, with what follows as its arguments. Kept in a file
 * of its own: the executable's entry must load nothing else.
 */
export const RUN_SCRIPT = "__run-script";
