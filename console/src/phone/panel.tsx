/** The panel of the phone: its state, its calls and a number to dial; folded, the running call. */
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { ReactNode, RefObject } from 'react';
import { ActionIcon, Alert, Button, Stack, Text, Title, VisuallyHidden } from '@mantine/core';
import { ArrowLeft, Mic, MicOff, Phone, PhoneOff, Settings, X } from 'lucide-react';
import { useLocation } from 'wouter';
import { QuietIcon } from '../app/quiet-icon.ts';
import { useTopic } from '../app/live.ts';
import { ParkedCalls } from './extras.tsx';
import { isField } from '../app/focus.ts';
import { PAGE_PATHS } from '../app/paths.ts';
import { CallCard, CallSpan } from './call-card.tsx';
import { Keypad, NumberField, useNumber } from './dial.tsx';
import { phone } from './phone.ts';
import { isLive, isUp } from './phone-state.ts';
import type { PhoneCall, PhoneState, PhoneStatus, PhoneTrouble } from './phone-state.ts';
import { wordsOf } from '../app/words.ts';
import styles from './phone.module.css';
import { isMet, ringingWords, stateWords, titleWords, whoOf } from './say.ts';
import { SettingsView } from './settings-view.tsx';

const t = wordsOf('phone');

/** Announcements to a screen reader, urgent and polite. */
function Announcer({ calls }: { readonly calls: readonly PhoneCall[] }): ReactNode {
  const ringing = calls.filter((call) => call.state === 'incoming');
  const talking = calls.find((call) => call.state === 'talking');
  const ended = calls.find((call) => call.state === 'ended');
  const key = talking === undefined ? 'incoming_from' : 'waiting_from';
  return (
    <VisuallyHidden>
      <div aria-live="assertive">{ringing.map((call) => ringingWords(call, key)).join('. ')}</div>
      <div aria-live="polite">
        {talking !== undefined &&
          (isMet(talking) ? t('said_answered', { who: whoOf(talking) }) : stateWords(talking))}
        {ended !== undefined && t(`end_${ended.end ?? 'over'}`)}
      </div>
    </VisuallyHidden>
  );
}
interface TroubleProps {
  readonly trouble: PhoneTrouble;
  readonly onRetry?: () => void;
  readonly onClose?: () => void;
}
const Trouble = ({ trouble, onRetry, onClose }: TroubleProps): ReactNode => (
  <Alert
    role="alert"
    color="red"
    variant="light"
    title={t(`trouble_${trouble}`)}
    withCloseButton={onClose !== undefined}
    closeButtonLabel={t('dismiss')}
    {...(onClose === undefined ? {} : { onClose })}
  >
    <Text size="sm">{t(`help_${trouble}`)}</Text>
    {onRetry !== undefined && (
      <Button mt="xs" size="xs" variant="default" onClick={onRetry}>
        {t('try_again')}
      </Button>
    )}
  </Alert>
);
const MINE = ['mine'] as const;
/** Set when the person has just opened the panel, so that its field may take the focus. */
type Asked = RefObject<boolean>;
function Dial({ asked }: { readonly asked: Asked }): ReactNode {
  const input = useNumber();
  const [last, setLast] = useState<{ readonly number: string; readonly name: string } | null>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // The field also appears when a call ends, and must not interrupt a person typing a note.
    if (asked.current && !isField(document.activeElement)) field.current?.focus();
  }, [asked]);
  function call(number: string, name: string): void {
    void phone.softphone?.call(number, name);
    setLast({ number, name });
    input.set('');
  }
  const again = input.value.trim() === '' ? last : null;
  return (
    <Stack gap="sm">
      <NumberField
        input={input}
        onSubmit={call}
        label={t('number')}
        description={t('number_hint')}
        field={field}
      />
      <Keypad onKey={input.press} />
      <Button
        size="md"
        leftSection={<Phone size={18} aria-hidden />}
        disabled={input.value.trim() === '' && again === null}
        onClick={() => (again === null ? void input.submit(call) : call(again.number, again.name))}
      >
        {again === null ? t('call') : t('redial', { number: again.name || again.number })}
      </Button>
    </Stack>
  );
}
function Off({ asked }: { readonly asked: Asked }): ReactNode {
  return (
    <Stack gap="sm">
      <Text fw={650}>{t('off_title')}</Text>
      <Text size="sm" c="dimmed">
        {t('off_text')}
      </Text>
      <Button
        leftSection={<Phone size={18} aria-hidden />}
        onClick={() => {
          asked.current = true;
          phone.switchOn();
        }}
      >
        {t('switch_on')}
      </Button>
    </Stack>
  );
}
function Elsewhere({ status }: { readonly status: PhoneStatus & { is: 'elsewhere' } }): ReactNode {
  const { page, calls } = status;
  return (
    <Stack gap="sm">
      <Text size="sm">{page === null ? t('elsewhere_text') : t('elsewhere_page', { page })}</Text>
      {calls > 0 ? (
        <Text size="sm" c="dimmed">
          {t('elsewhere_busy')}
        </Text>
      ) : (
        <Button variant="default" onClick={() => phone.bringHere()}>
          {t('bring_here')}
        </Button>
      )}
    </Stack>
  );
}
function Body({ state, asked }: { readonly state: PhoneState; readonly asked: Asked }): ReactNode {
  const { status, calls, trouble } = state;
  const parkable = useTopic('calls', MINE).records;
  if (status.is === 'off') return <Off asked={asked} />;
  if (status.is === 'elsewhere') return <Elsewhere status={status} />;
  const alive = calls.some(isLive);
  return (
    <>
      {calls.map((call) => (
        <CallCard key={call.id} call={call} others={calls.filter((other) => other !== call)} />
      ))}
      {/* Below the buttons of the calls, which must not move when it appears. */}
      {status.is === 'refused' && <Trouble trouble={status.problem} onRetry={() => phone.retry()} />}
      {status.is === 'away' && <Trouble trouble="away" />}
      {trouble !== null && !(trouble === 'away' && status.is === 'away') && (
        <Trouble trouble={trouble} onClose={() => phone.softphone?.dismiss()} />
      )}
      <ParkedCalls calls={parkable.values()} />
      {!alive && status.is !== 'refused' && <Dial asked={asked} />}
    </>
  );
}
/** The running call while the panel is folded. */
function Bar({ call, onOpen }: { readonly call: PhoneCall; readonly onOpen: () => void }): ReactNode {
  return (
    <div className={styles.bar} role="region" aria-label={t('phone')}>
      <Button
        variant="subtle"
        color="gray"
        h="auto"
        p={4}
        className={styles.barName ?? ''}
        justify="flex-start"
        onClick={onOpen}
      >
        <VisuallyHidden>{t('open')}</VisuallyHidden>
        <span style={{ minWidth: 0 }}>
          <Text fw={650} size="sm" truncate>
            {whoOf(call)}
          </Text>
          <Text span size="xs" c="dimmed">
            {stateWords(call)}{' '}
          </Text>
          <CallSpan call={call} />
        </span>
      </Button>
      {call.state === 'incoming' && (
        <ActionIcon size={40} aria-label={t('answer')} onClick={() => void phone.softphone?.answer(call.id)}>
          <Phone size={18} aria-hidden />
        </ActionIcon>
      )}
      {isUp(call) && (
        <ActionIcon
          variant="default"
          size={40}
          aria-label={call.muted ? t('unmute') : t('mute')}
          aria-pressed={call.muted}
          onClick={() => phone.softphone?.mute(call.id, !call.muted)}
        >
          {call.muted ? <MicOff size={18} aria-hidden /> : <Mic size={18} aria-hidden />}
        </ActionIcon>
      )}
      <ActionIcon
        className={styles.hangUp ?? ''}
        size={40}
        aria-label={t('hang_up')}
        onClick={() => phone.softphone?.hangUp(call.id)}
      >
        <PhoneOff size={18} aria-hidden />
      </ActionIcon>
    </div>
  );
}
const one = (test: (call: PhoneCall) => boolean): PhoneCall | undefined => phone.state.calls.find(test);
/** The call on which keys act. */
const keyed = (): PhoneCall | undefined =>
  one((call) => call.state === 'talking') ??
  one((call) => call.state === 'held') ??
  one((call) => call.state === 'incoming') ??
  one(isLive);
/** Time without keys after another call replaced the shown one, ms. */
const SEEN_MS = 700;
/** Alt+Shift and a letter, wherever the focus is. */
function useShortcuts(on: boolean): void {
  useEffect(() => {
    if (!on) return;
    let last = keyed()?.id;
    let changed = -Infinity;
    const unwatch = phone.subscribe(() => {
      const now = keyed()?.id;
      if (now === last) return;
      // A press right after the change may be meant for the previous call.
      if (last !== undefined) changed = performance.now();
      last = now;
    });
    function press(event: KeyboardEvent): void {
      if (!event.altKey || !event.shiftKey || event.ctrlKey || event.metaKey) return;
      const { softphone } = phone;
      const ringing = one((call) => call.state === 'incoming');
      const target = performance.now() - changed < SEEN_MS ? undefined : keyed();
      const talking = target !== undefined && isUp(target) ? target : undefined;
      const actions: Readonly<Record<string, (() => void) | undefined>> = {
        KeyA: ringing && (() => void softphone?.answer(ringing.id)),
        KeyX: target && (() => softphone?.hangUp(target.id)),
        KeyM: talking && (() => softphone?.mute(talking.id, !talking.muted)),
        KeyH: talking && (() => void softphone?.hold(talking.id, talking.state !== 'held')),
      };
      const action = actions[event.code];
      if (softphone === null || action === undefined) return;
      event.preventDefault();
      action();
    }
    addEventListener('keydown', press);
    return () => {
      unwatch();
      removeEventListener('keydown', press);
    };
  }, [on]);
}

interface PhonePanelProps {
  readonly open: boolean;
  /** Set at opening, reset after the first render. */
  readonly asked: Asked;
  readonly onOpen: (open: boolean) => void;
}
export function PhonePanel({ open, asked, onOpen }: PhonePanelProps): ReactNode {
  const state = useSyncExternalStore(phone.subscribe, () => phone.state);
  const settings = useSyncExternalStore(phone.subscribe, () => phone.settings);
  const [setting, setSetting] = useState(false);
  const { status, calls } = state;
  const ringing = calls.find((call) => call.state === 'incoming')?.id;
  const placed = calls.find((call) => call.state === 'dialing')?.id;
  const onDesk = useLocation()[0] === PAGE_PATHS.desk;
  useEffect(() => {
    // A ringing call opens the panel, except at the desk, whose own buttons must not be covered.
    if ((ringing !== undefined && !onDesk) || placed !== undefined) {
      onOpen(true);
      setSetting(false);
    }
  }, [ringing, placed, onDesk, onOpen]);
  const { trouble } = state;
  useEffect(() => {
    // A failed step is reported here, wherever it was begun, and a refusal of the phone that was switched on at the desk.
    if (trouble !== null || (status.is === 'refused' && phone.startedHere)) onOpen(true);
  }, [trouble, status.is, onOpen]);
  // Runs after the effects of the children.
  useEffect(() => {
    asked.current = false;
  });
  useShortcuts(settings?.shortcuts ?? false);
  const shown = calls.find((call) => call.state === 'talking') ?? calls.find(isLive);
  const title =
    status.is === 'off'
      ? t('phone')
      : status.is === 'ready' && shown !== undefined
        ? titleWords(shown)
        : t(status.is);
  return (
    <>
      <Announcer calls={calls} />
      {!open && shown !== undefined && <Bar call={shown} onOpen={() => onOpen(true)} />}
      {open && (
        <aside
          className={styles.panel}
          id="phone"
          tabIndex={-1}
          aria-label={t('phone')}
          onKeyDown={(event) => {
            if (event.key === 'Escape') onOpen(false);
          }}
        >
          <div className={styles.head}>
            {setting && (
              <QuietIcon
                aria-label={t('back')}
                onClick={() => {
                  asked.current = true;
                  setSetting(false);
                }}
              >
                <ArrowLeft size={18} aria-hidden />
              </QuietIcon>
            )}
            <Title order={2} size="h5" style={{ flex: 1 }}>
              {setting ? t('settings') : title}
            </Title>
            {!setting && status.is !== 'off' && status.is !== 'elsewhere' && (
              <QuietIcon aria-label={t('settings')} onClick={() => setSetting(true)}>
                <Settings size={18} aria-hidden />
              </QuietIcon>
            )}
            <QuietIcon aria-label={t('close')} onClick={() => onOpen(false)}>
              <X size={18} aria-hidden />
            </QuietIcon>
          </div>
          <div className={styles.body}>
            {setting && settings !== null && status.is !== 'off' ? (
              <SettingsView settings={settings} />
            ) : (
              <Body state={state} asked={asked} />
            )}
          </div>
        </aside>
      )}
    </>
  );
}
