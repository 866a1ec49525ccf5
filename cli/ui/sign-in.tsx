// cli/ui: full-screen views, loaded only on a terminal; each has a plain command beside it. screen.tsx shows the lines that
// inbox/ and browse/ draw. This file is the sign-in form.
import { Box, render, Text, useApp, useInput } from "ink";
import { useEffect, useRef, useState } from "react";
import {
  type Attempt,
  type AttemptOutcome,
  type SecondFactor,
  toSecondFactor,
} from "../support/sign-in-attempt.ts";
import type { CliContext } from "../context.ts";
import { CliError, toCliError } from "../errors.ts";
import type { Style } from "../io.ts";
import { countDown, toWaitSeconds, toWaitText } from "../support/rate-limit.ts";

type SignedIn = Extract<AttemptOutcome, { kind: "signed_in" }>;

/** The values given on the command line. */
export interface SignInPrefill {
  readonly email: string | undefined;
  readonly factor: SecondFactor | undefined;
}

/**
 * Prompts for e-mail address, password and, when the account has a second factor, a code, until an attempt succeeds.
 * @throws CliError `interrupted` when the person leaves, and failures other than a wrong password or code
 */
export async function showSignIn(
  cli: CliContext,
  prefill: SignInPrefill,
  attempt: (credentials: Attempt) => Promise<AttemptOutcome>,
): Promise<SignedIn> {
  let end: { readonly user: SignedIn } | { readonly error: unknown } | undefined;
  const screen = render(
    <SignIn
      prefill={prefill}
      attempt={attempt}
      wait={(seconds, signal, show) => countDown(cli, seconds, signal, show)}
      style={cli.io.errorStyle}
      suspend={cli.system.suspend}
      onEnd={(result) => {
        end = result;
      }}
    />,
    {
      stdin: cli.system.stdin as NodeJS.ReadStream,
      // Prompts go to standard error: standard output may be a file.
      stdout: cli.system.stderr as NodeJS.WriteStream,
      // The caller has checked the terminals, and nothing here writes to the console.
      interactive: true,
      patchConsole: false,
      exitOnCtrlC: false,
      maxFps: 10,
    },
  );
  const leave = () => screen.unmount();
  cli.signal.addEventListener("abort", leave, { once: true });
  try {
    await screen.waitUntilExit();
  } finally {
    cli.signal.removeEventListener("abort", leave);
  }
  if (end === undefined) throw new CliError("interrupted", "interrupted");
  if ("error" in end) throw end.error;
  return end.user;
}

/** The error of the last attempt with its hint. */
interface Problem {
  readonly message: string;
  readonly hint: string | undefined;
}

type Step = "email" | "password" | "code" | "busy" | "limited";

export interface SignInProps {
  readonly prefill: SignInPrefill;
  readonly attempt: (credentials: Attempt) => Promise<AttemptOutcome>;
  /** Waits, and reports the remaining seconds every second. Rejects when `signal` is aborted. */
  readonly wait: (
    seconds: number,
    signal: AbortSignal,
    show: (left: number) => void,
  ) => Promise<void>;
  readonly style: Style;
  readonly suspend: () => void;
  readonly onEnd: (result: { readonly user: SignedIn } | { readonly error: unknown }) => void;
}

/** The screen itself: one field at a time, with the error below it. */
function SignIn({ prefill, attempt, wait, style, suspend, onEnd }: SignInProps) {
  const { exit, suspendTerminal } = useApp();
  const [step, setStep] = useState<Step>(prefill.email === undefined ? "email" : "password");
  const [email, setEmail] = useState(prefill.email ?? "");
  const [password, setPassword] = useState("");
  // Keys may come faster than the screen is drawn, so the typed text is kept apart from the shown one.
  const field = useRef("");
  const [typed, showTyped] = useState("");
  const [problem, setProblem] = useState<Problem | undefined>();
  const [left, setLeft] = useState(0);
  const leaving = useRef(new AbortController());
  useEffect(() => () => leaving.current.abort(), []);

  const setTyped = (text: string) => {
    field.current = text;
    showTyped(text);
  };

  const send = async (secret: string, factor: SecondFactor | undefined) => {
    setStep("busy");
    setTyped("");
    setProblem(undefined);
    try {
      const outcome = await attempt({ email, password: secret, factor });
      if (outcome.kind === "signed_in") {
        onEnd({ user: outcome });
        exit();
        return;
      }
      setPassword(secret);
      setStep("code");
    } catch (error) {
      const failure = toCliError(error);
      const seconds = toWaitSeconds(error);
      if (seconds !== undefined) {
        setProblem({ message: failure.message, hint: undefined });
        setStep("limited");
        const isOver = await wait(seconds, leaving.current.signal, setLeft).then(
          () => true,
          () => false,
        );
        // Otherwise a key has ended the screen already.
        if (isOver) await send(secret, factor);
        return;
      }
      // The daemon reads an address before it compares the password.
      if (failure.code === "invalid" && prefill.email === undefined) {
        setProblem({ message: failure.message, hint: failure.details.hint });
        setPassword("");
        setStep("email");
        return;
      }
      // A code of the line is as wrong at the next try.
      if (failure.code !== "invalid_credentials" || prefill.factor !== undefined) {
        onEnd({ error });
        exit();
        return;
      }
      setProblem({ message: failure.message, hint: failure.details.hint });
      setStep(factor === undefined || password === "" ? "password" : "code");
    }
  };

  const submit = (entered: string) => {
    const value = entered.trim();
    if (value === "" || isWaiting(step)) return;
    if (step === "email") {
      if (!/^[^\s@]+@[^\s@]+$/.test(value)) {
        setProblem({ message: `${value} is not an e-mail address`, hint: undefined });
        setTyped("");
        return;
      }
      setProblem(undefined);
      setEmail(value);
      setTyped("");
      setStep("password");
    } else if (step === "password") void send(entered, prefill.factor);
    else void send(password, toSecondFactor(value));
  };

  useInput((input, key) => {
    if (key.ctrl && input === "c") exit();
    else if (key.ctrl && input === "z") suspendTerminal(async () => suspend()).catch(exit);
    else if (key.escape) {
      onEnd({ error: new CliError("cancelled", "cancelled") });
      exit();
    } else if (key.return) submit(field.current);
    else if (key.backspace || key.delete) setTyped([...field.current].slice(0, -1).join(""));
    else if (key.ctrl && input === "u") setTyped("");
    else if (!key.ctrl && !key.meta && !key.tab && !isWaiting(step)) {
      // Pasted text may bring its line end along.
      const [line = "", ...rest] = input.split(/\r\n|\r|\n/);
      const entered = field.current + toPlain(line);
      setTyped(entered);
      if (rest.length > 0) submit(entered);
    }
  });

  return (
    <Box flexDirection="column">
      <Text>{style.bold("Sign in to the vault")}</Text>
      {step === "email" ? null : <Text>E-mail: {email}</Text>}
      {isWaiting(step) ? (
        <Text>
          {step === "busy"
            ? style.dim("Signing in…")
            : style.yellow(`Trying again in ${toWaitText(left)}`)}
        </Text>
      ) : (
        <Field step={step} typed={typed} />
      )}
      {problem === undefined ? null : <Text>{style.red(problem.message)}</Text>}
      {problem?.hint === undefined ? null : <Text>{style.dim(problem.hint)}</Text>}
      <Text>{style.dim(isWaiting(step) ? "Esc leaves" : "Enter continues, Esc leaves")}</Text>
    </Box>
  );
}

/** Input is ignored while signing in. */
type WaitingStep = "busy" | "limited";

function isWaiting(step: Step): step is WaitingStep {
  return step === "busy" || step === "limited";
}

function Field({
  step,
  typed,
}: {
  readonly step: Exclude<Step, WaitingStep>;
  readonly typed: string;
}) {
  switch (step) {
    case "email":
      return <Text>E-mail: {typed}▏</Text>;
    case "password":
      // Does not reveal the length of the password.
      return <Text>Password (not shown): ▏</Text>;
    case "code":
      return <Text>Six-digit code, or a backup code: {typed}▏</Text>;
  }
}

/** Returns typed or pasted text without control characters. */
function toPlain(input: string): string {
  return input.replaceAll(/\p{Cc}/gu, "");
}
