/**
 * PINs that callers type. Wrong ones are counted in the engine's own store, so that a PIN cannot be tried out call by call, also
 * while the service is down. `offhook-wrong/<key>` is the time in seconds since 1970 at which all wrong PINs of the key are
 * forgotten: each one adds an hour. A key that accepts n wrong PINs at once thus accepts at most n + 24 in any 24 hours, and 24 a
 * day in the long run:
 *
 * | Wrong PINs of one mailbox or conference | at once | in 24 hours |
 * |---|---|---|
 * | by all callers outside together | 20 | 44 |
 * | by one extension | 10 | 34 |
 * | at the sign-in of one extension, at all shared phones | 20 | 44 |
 * | at one shared phone, for all extensions | 10 | 34 |
 *
 * Callers outside guess a PIN of four digits with a probability of 0.44 % in the first 24 hours, of 88 % in a year; one of six
 * digits, as the service generates them, of 0.9 % in a year. A caller cannot make another extension wait at a conference or
 * mailbox, and wrong PINs at one shared phone alone never end the sign-ins of an extension at the others.
 */
import { PINS_REFUSED } from './cel-format.ts';
import { at, context, exten, hangUp } from './dialplan-text.ts';
import { conf, joined } from './text.ts';
import type { ConfText } from './text.ts';

/** Wrong PINs that are accepted at once. */
export const MOST_WRONG = {
  outside: conf`20`,
  extension: conf`10`,
  sign_in: conf`20`,
  phone: conf`10`,
};
const WRONG = conf`offhook-wrong/$\{ARG1}`;
const FORGET_SECONDS = conf`3600`;
const NOW_S = conf`$\{STRFTIME(,,%s)}`;
/** Wrong PINs in one call, and the longest time without a key. */
const TRIES = conf`3`;
const PIN_SECONDS = conf`10`;

/** Counts the PIN as a wrong one before it is compared, so that a store that cannot be written accepts no PIN. */
export const takeGuess = (key: ConfText, most: ConfText): ConfText =>
  conf`Gosub(pin-guess,s,1(${key},${most}))`;
/** True in an expression after `takeGuess` where the PIN may be compared. */
export const gaveGuess = conf`$[$\{LEN($\{GOSUB_RETVAL})} > 0]`;
/** The PIN was right, or not compared. */
export const returnGuess = (key: ConfText): ConfText => conf`Gosub(pin-right,s,1(${key}))`;
/** The shortest PIN has four digits: a shorter text, also none, is no guess. */
export const isGuess = (pin: ConfText): ConfText => conf`$[$\{LEN(${pin})} > 3]`;
/** Texts are compared: as numbers, 0012 would be 12. */
export const same = (a: ConfText, b: ConfText): ConfText => conf`$["x${a}" = "x${b}"]`;

const PIN = conf`$\{OFFHOOK_PIN}`;
const OWN = conf`$\{OFFHOOK_EXTENSION}`;
const inside = conf`$[$\{LEN(${OWN})} > 0]`;
const FREE = conf`Set(OFFHOOK_FREED=$\{UNLOCK(pin-guess)})`;
interface Pins {
  /** Object that the PIN protects. */
  readonly of: ConfText;
  readonly ask: ConfText;
  readonly incorrect: ConfText;
  /** Steps for each PIN, or for none where `pin` is null; they end the call. */
  readonly ways: readonly {
    readonly label: ConfText;
    readonly pin: ConfText | null;
    readonly steps: readonly ConfText[];
  }[];
}
/** Asks for a PIN. The lock keeps guesses of many calls in one row. */
export function pinSteps({ of, ask, incorrect, ways }: Pins): readonly ConfText[] {
  const key = conf`${of}-$\{IF(${inside}?${OWN}:outside)}`;
  const most = conf`$\{IF(${inside}?${MOST_WRONG.extension}:${MOST_WRONG.outside})}`;
  return [
    conf`Answer()`,
    conf`Set(OFFHOOK_TRIES=0)`,
    at(conf`again`, conf`Set(OFFHOOK_TRIES=$[$\{OFFHOOK_TRIES} + 1])`),
    conf`GotoIf($[$\{OFFHOOK_TRIES} > ${TRIES}]?refused)`,
    conf`Read(OFFHOOK_PIN,${ask},12,,1,${PIN_SECONDS})`,
    conf`Set(OFFHOOK_PIN=$\{FILTER(0-9,${PIN})})`,
    conf`GotoIf($\{LOCK(pin-guess)}?:refused)`,
    ...ways.filter((way) => way.pin === null).map((way) => conf`GotoIf($["${PIN}" = ""]?${way.label})`),
    conf`GotoIf(${isGuess(PIN)}?:wrong)`,
    takeGuess(key, most),
    conf`GotoIf(${gaveGuess}?:many)`,
    ...ways.flatMap((way) => (way.pin === null ? [] : [conf`GotoIf(${same(PIN, way.pin)}?${way.label})`])),
    conf`ExecIf($["$\{GOSUB_RETVAL}" = "last"]?CELGenUserEvent(${PINS_REFUSED},${key}))`,
    at(conf`wrong`, FREE),
    conf`Playback(${incorrect})`,
    conf`Goto(again)`,
    at(conf`many`, FREE),
    conf`Playback(${incorrect})`,
    at(conf`refused`, hangUp('rejected')),
    ...ways.flatMap(({ label, pin, steps }) =>
      pin === null ? [at(label, FREE), ...steps] : [at(label, returnGuess(key)), FREE, ...steps],
    ),
  ];
}
/**
 * `pin-guess` counts a PIN of the key ARG1, which accepts ARG2 wrong ones at once: GOSUB_RETVAL is empty where there were as many,
 * and `last` for the last one. `pin-right` takes it back. A time too far ahead is that of a clock which was wrong.
 */
export const PIN_GUESSES = joined(
  [
    context(conf`pin-guess`, [
      exten(conf`s`, [
        conf`Set(LOCAL(NOW)=${NOW_S})`,
        conf`Set(LOCAL(UNTIL)=$\{DB(${WRONG})})`,
        conf`Set(LOCAL(UNTIL)=$\{IF($[0$\{UNTIL} > $\{NOW} & 0$\{UNTIL} <= $\{NOW} + $\{ARG2} * ${FORGET_SECONDS}]?$\{UNTIL}:$\{NOW})})`,
        conf`Set(LOCAL(UNTIL)=$[$\{UNTIL} + ${FORGET_SECONDS}])`,
        conf`Set(LOCAL(FULL)=$[$\{NOW} + $\{ARG2} * ${FORGET_SECONDS}])`,
        conf`GotoIf($[$\{UNTIL} > $\{FULL}]?many)`,
        conf`Set(DB(${WRONG})=$\{UNTIL})`,
        conf`GotoIf($["$\{DB(${WRONG})}" = "$\{UNTIL}"]?:many)`,
        conf`Return($\{IF($[$\{UNTIL} + ${FORGET_SECONDS} > $\{FULL}]?last:more)})`,
        at(conf`many`, conf`Return()`),
      ]),
    ]),
    context(conf`pin-right`, [
      exten(conf`s`, [
        conf`Set(LOCAL(UNTIL)=$[0$\{DB(${WRONG})} - ${FORGET_SECONDS}])`,
        conf`GotoIf($[$\{UNTIL} > ${NOW_S}]?some)`,
        conf`Set(LOCAL(WAS)=$\{DB_DELETE(${WRONG})})`,
        conf`Return()`,
        at(conf`some`, conf`Set(DB(${WRONG})=$\{UNTIL})`),
        conf`Return()`,
      ]),
    ]),
  ],
  '',
);
