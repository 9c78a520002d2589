import { Suspense, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, Stack, Text, UnstyledButton } from '@mantine/core';
import {
  ArrowLeftRight,
  Grid3x3,
  Mic,
  MicOff,
  Pause,
  Phone,
  PhoneForwarded,
  PhoneOff,
  Play,
  SquareParking,
} from 'lucide-react';
import { formatSpan } from '../app/format.ts';
import { late } from '../app/late.tsx';
import { useSecond } from '../app/now.ts';
import { useTopic } from '../app/live.ts';
import { useClient } from '../app/session.tsx';
import { tellFailure } from '../app/tell.ts';
import { RecordingSign, park } from './extras.tsx';
import { Keypad, NumberField, useNumber } from './dial.tsx';
import type { Chosen } from './dial.tsx';
import { phone } from './phone.ts';
import { isHeld, isUp } from './phone-state.ts';
import type { PhoneCall } from './phone-state.ts';
import { wordsOf } from '../app/words.ts';
import styles from './phone.module.css';
import { QualityView } from './quality-view.tsx';
import { isMet, stateWords, whoOf } from './say.ts';

const tExtra = wordsOf('extras');
const t = wordsOf('phone');

const CustomerCard = late(async () => (await import('../customers/card.tsx')).CustomerCard);

/** Length of the call, or of its hold, ticking. */
export function CallSpan({ call }: { readonly call: PhoneCall }): ReactNode {
  const now = useSecond();
  if (call.answered === null) return null;
  const began = (isHeld(call) ? call.held_since : null) ?? call.connected_at ?? call.answered;
  return (
    <Text span size="sm" c="dimmed" style={{ fontVariantNumeric: 'tabular-nums' }}>
      {formatSpan(Math.max(0, now - Math.floor(began / 1000)))}
    </Text>
  );
}
interface ActionProps {
  readonly label: string;
  readonly icon: ReactNode;
  readonly pressed?: boolean;
  readonly disabled?: boolean;
  readonly onClick: () => void;
}
const Action = ({ label, icon, pressed, disabled = false, onClick }: ActionProps): ReactNode => (
  <UnstyledButton className={styles.action} aria-pressed={pressed} disabled={disabled} onClick={onClick}>
    {icon}
    {label}
  </UnstyledButton>
);

const MINE = ['mine'] as const;
type Tool = 'none' | 'keypad' | 'transfer';
function Transfer({ call, onDone }: { readonly call: PhoneCall; readonly onDone: () => void }): ReactNode {
  const input = useNumber();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const empty = input.value.trim() === '';
  const submit = (then: Chosen): void =>
    void input.submit((number, name) => {
      then(number, name);
      onDone();
    });
  return (
    <Stack gap="xs">
      <NumberField
        input={input}
        onSubmit={(number) => input.set(number)}
        label={t('transfer_to')}
        field={field}
      />
      <Group gap="xs" grow>
        <Button
          variant="default"
          disabled={empty}
          onClick={() => submit((number) => void phone.softphone?.transfer(call.id, number))}
        >
          {t('transfer_now')}
        </Button>
        <Button
          disabled={empty}
          onClick={() => submit((number, name) => void phone.softphone?.consult(call.id, number, name))}
        >
          {t('ask_first')}
        </Button>
      </Group>
    </Stack>
  );
}

/** The other side, and the state of the call. */
const CallHead = ({
  call,
  consulted,
}: {
  readonly call: PhoneCall;
  /** The call that waits for this consultation. */
  readonly consulted: PhoneCall | undefined;
}): ReactNode => (
  <div className={styles.who}>
    {consulted !== undefined && (
      <Text size="xs" c="dimmed">
        {t('consulting', { who: whoOf(consulted) })}
      </Text>
    )}
    <Text fw={700} size="lg" lh={1.25} lineClamp={2}>
      {whoOf(call)}
    </Text>
    <Group gap={8}>
      {call.name !== '' && (
        <Text size="sm" c="dimmed">
          {call.number}
        </Text>
      )}
      <Text size="sm" fw={600} c={call.mending || call.end === 'lost' ? 'var(--offhook-alert)' : 'inherit'}>
        {stateWords(call)}
      </Text>
      {call.muted && isUp(call) && (
        <Text size="sm" fw={600} c="var(--offhook-alert)">
          {t('muted')}
        </Text>
      )}
      {isUp(call) && isMet(call) && <CallSpan call={call} />}
    </Group>
  </div>
);
function Ringing({ call, others }: CallCardProps): ReactNode {
  const softphone = useSyncExternalStore(phone.subscribe, () => phone.softphone);
  return (
    <Stack gap="xs">
      <Button
        leftSection={<Phone size={18} aria-hidden />}
        onClick={() => void softphone?.answer(call.id)}
        size="md"
      >
        {others.some((other) => other.state === 'talking') ? t('hold_answer') : t('answer')}
      </Button>
      <Button
        className={styles.hangUp ?? ''}
        size="md"
        leftSection={<PhoneOff size={18} aria-hidden />}
        onClick={() => softphone?.hangUp(call.id)}
      >
        {t('decline')}
      </Button>
    </Stack>
  );
}

interface CallCardProps {
  readonly call: PhoneCall;
  readonly others: readonly PhoneCall[];
}
export function CallCard({ call, others }: CallCardProps): ReactNode {
  const softphone = useSyncExternalStore(phone.subscribe, () => phone.softphone);
  const [tool, setTool] = useState<Tool>('none');
  const up = isUp(call);
  // A listening supervisor's call cannot be held or transferred.
  const listens = call.placed === 'listen';
  const first = others.find((other) => other.id === call.consultFor && isUp(other));
  const consults = others.some((other) => other.consultFor === call.id && other.state !== 'ended');
  const joins =
    first ??
    (call.state === 'talking' && !consults ? others.find((other) => other.state === 'held') : undefined);
  const client = useClient();
  const onHold = isHeld(call);
  const known = useTopic('calls', MINE).records.get(call.call_id ?? '');
  const holdOrResume = async (): Promise<void> => {
    if (call.state === 'held' || !onHold) return softphone?.hold(call.id, !onHold);
    await client.calls.retrieve(call.call_id ?? '').catch(tellFailure);
  };
  const toggle = (next: Tool): void => setTool(tool === next ? 'none' : next);
  const frame = call.state === 'incoming' ? styles.incoming : call.state === 'talking' ? styles.active : '';
  return (
    <section
      className={`${styles.card ?? ''} ${frame ?? ''}`}
      aria-label={`${whoOf(call)}, ${stateWords(call)}`}
    >
      <CallHead call={call} consulted={first} />
      {call.state === 'incoming' && <Ringing call={call} others={others} />}
      {up && (
        <div className={styles.actions}>
          <Action
            label={call.muted ? t('unmute') : t('mute')}
            icon={call.muted ? <MicOff size={20} aria-hidden /> : <Mic size={20} aria-hidden />}
            pressed={call.muted}
            onClick={() => softphone?.mute(call.id, !call.muted)}
          />
          <Action
            label={onHold ? (others.some((o) => o.state === 'talking') ? t('swap') : t('resume')) : t('hold')}
            icon={onHold ? <Play size={20} aria-hidden /> : <Pause size={20} aria-hidden />}
            pressed={onHold}
            disabled={listens}
            onClick={() => void holdOrResume()}
          />
          <Action
            label={t('keypad')}
            icon={<Grid3x3 size={20} aria-hidden />}
            pressed={tool === 'keypad'}
            disabled={listens || call.state === 'held'}
            onClick={() => toggle('keypad')}
          />
          <Action
            label={tExtra('park')}
            icon={<SquareParking size={20} aria-hidden />}
            disabled={listens || call.call_id === null || !isMet(call) || first !== undefined || consults}
            onClick={() => void park(client, call.call_id ?? '').catch(tellFailure)}
          />
          <Action
            label={t('transfer')}
            icon={<PhoneForwarded size={20} aria-hidden />}
            pressed={tool === 'transfer'}
            disabled={listens || first !== undefined || consults}
            onClick={() => toggle('transfer')}
          />
        </div>
      )}
      {up && tool === 'keypad' && <Keypad keyboard onKey={(key) => softphone?.tones(call.id, key)} />}
      {up && tool === 'transfer' && first === undefined && (
        <Transfer call={call} onDone={() => setTool('none')} />
      )}
      {up && joins !== undefined && (
        <Button
          leftSection={<ArrowLeftRight size={18} aria-hidden />}
          onClick={() => void softphone?.join(joins.id, call.id)}
        >
          {first === undefined ? t('join') : t('complete')}
        </Button>
      )}
      {call.state !== 'incoming' && call.state !== 'ended' && (
        <Button
          className={styles.hangUp ?? ''}
          variant="filled"
          leftSection={<PhoneOff size={18} aria-hidden />}
          onClick={() => softphone?.hangUp(call.id)}
        >
          {first === undefined ? t('hang_up') : t('back_to', { who: whoOf(first) })}
        </Button>
      )}
      {/* Below the buttons, which must not move when one of these changes. */}
      {known !== undefined && up && <RecordingSign call={known} own={!listens} />}
      {up && isMet(call) && <QualityView quality={call.quality} shown={call.state === 'talking'} />}
      {call.state !== 'ended' && !listens && (
        <Suspense>
          <CustomerCard number={call.number} name={call.name} history={call.state === 'incoming'} />
        </Suspense>
      )}
    </section>
  );
}
