/** A person's settings for its own calls: do not disturb, forwards, and the devices that ring, with times. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Checkbox, Group, NumberInput, Stack, Switch, TextInput } from '@mantine/core';
import type { TextInputProps } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Features, PhoneKind, PhoneMode } from '@offhook/contract/features.ts';
import { ChangeForm } from '../app/change-form.tsx';
import { useOnce } from '../app/once.ts';
import { useClient, useMe } from '../app/session.tsx';
import { Read } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('account');

const KINDS: readonly PhoneKind[] = ['desk', 'softphone', 'mobile'];
const kindsOf = (mode: PhoneMode): string[] => (mode === 'all' ? [...KINDS] : mode.split(','));
const KEY = ['account', 'features'];

interface ForwardProps extends Pick<TextInputProps, 'label' | 'description' | 'flex' | 'value'> {
  readonly onNumber: (number: string) => void;
}
const Forward = ({ onNumber, ...field }: ForwardProps): ReactNode => (
  <TextInput {...field} inputMode="tel" onChange={(event) => onNumber(event.currentTarget.value)} />
);

function Fields({ features }: { readonly features: Features }): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const [dnd, setDnd] = useState(features.dnd_enabled);
  const [forward, setForward] = useState(features.call_forward_number);
  const [busy, setBusy] = useState(features.cf_busy_number);
  const [unanswered, setUnanswered] = useState(features.cf_noanswer_number);
  const [seconds, setSeconds] = useState<number | string>(features.cf_noanswer_timeout);
  const [kinds, setKinds] = useState(kindsOf(features.allowed_phone_mode));
  const change = useOnce<Features, undefined>({
    mutationFn: async () => {
      const reply = await client.features.set(features.extension, {
        dnd_enabled: dnd,
        call_forward_number: forward,
        cf_busy_number: busy,
        cf_noanswer_number: unanswered,
        cf_noanswer_timeout: Number(seconds),
        phone_modes: kinds,
      });
      return reply.features;
    },
    onSuccess: async () => {
      notifications.show({ message: t('calls_saved'), color: 'green' });
      // Shows numbers in the service's stored form.
      await queries.invalidateQueries({ queryKey: KEY });
      await queries.invalidateQueries({ queryKey: ['presence'] });
    },
  });
  return (
    <ChangeForm change={change} submit={t('save_calls')} maw={560}>
      <Switch
        label={t('dnd')}
        description={t('dnd_text')}
        checked={dnd}
        onChange={(event) => setDnd(event.currentTarget.checked)}
      />
      <Forward
        label={t('forward_always')}
        description={t('forward_hint')}
        value={forward}
        onNumber={setForward}
      />
      <Forward label={t('forward_busy')} value={busy} onNumber={setBusy} />
      <Group align="flex-end" wrap="wrap">
        <Forward
          label={t('forward_unanswered')}
          flex="1 1 16rem"
          value={unanswered}
          onNumber={setUnanswered}
        />
        <NumberInput
          label={t('ring_seconds')}
          suffix={t('seconds_suffix')}
          min={5}
          max={120}
          w={150}
          value={seconds}
          onChange={setSeconds}
        />
      </Group>
      <Checkbox.Group
        label={t('ringing')}
        value={kinds}
        onChange={setKinds}
        error={kinds.length === 0 ? t('no_ringing') : undefined}
      >
        <Stack gap="xs" mt="xs">
          {KINDS.map((kind) => (
            <Checkbox key={kind} value={kind} label={t(`kind_${kind}`)} />
          ))}
        </Stack>
      </Checkbox.Group>
    </ChangeForm>
  );
}

export function OwnCalls(): ReactNode {
  const client = useClient();
  const { extension } = useMe();
  const read = useQuery({
    queryKey: KEY,
    queryFn: async ({ signal }) => (await client.features.get(extension, signal)).features,
    staleTime: 0,
  });
  return <Read of={read}>{(features) => <Fields key={JSON.stringify(features)} features={features} />}</Read>;
}
