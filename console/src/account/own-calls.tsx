/** A person's settings for its own calls: do not disturb, forwards, and the devices that ring, with times. */
import type { ReactNode } from 'react';
import { Checkbox, Group, NumberInput, Stack, Switch, TextInput } from '@mantine/core';
import type { TextInputProps } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Features, PhoneKind, PhoneMode } from '@offhook/contract/features.ts';
import { ChangeForm } from '../app/change-form.tsx';
import { fieldsWith } from '../app/field-errors.ts';
import { useOnce } from '../app/once.ts';
import { useClient, useMe } from '../app/session.tsx';
import { Read } from '../app/states.tsx';
import { useFields } from '../app/use-fields.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('account');

const KINDS: readonly PhoneKind[] = ['desk', 'softphone', 'mobile'];
const kindsOf = (mode: PhoneMode): string[] => (mode === 'all' ? [...KINDS] : mode.split(','));
const fieldsOf = ({ allowed_phone_mode, ...others }: Features) => ({
  ...others,
  // Empty while it is typed.
  cf_noanswer_timeout: others.cf_noanswer_timeout as number | string,
  phone_modes: kindsOf(allowed_phone_mode),
});
const KEY = ['account', 'features'];

interface ForwardProps extends Pick<TextInputProps, 'label' | 'error' | 'description' | 'flex' | 'value'> {
  readonly onNumber: (number: string) => void;
}
const Forward = ({ onNumber, ...field }: ForwardProps): ReactNode => (
  <TextInput {...field} inputMode="tel" onChange={(event) => onNumber(event.currentTarget.value)} />
);

function Fields({ features }: { readonly features: Features }): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const { fields, set, saved } = useFields(fieldsOf(features));
  const kinds = fields.phone_modes;
  const change = useOnce<unknown, undefined>({
    async mutationFn() {
      const { extension, ...wanted } = fields;
      const seconds = Number(fields.cf_noanswer_timeout);
      const reply = await client.features.set(extension, { ...wanted, cf_noanswer_timeout: seconds });
      // Shows numbers in the service's stored form.
      saved(fields, fieldsOf(reply.features));
    },
    onSuccess: async () => {
      notifications.show({ message: t('calls_saved'), color: 'green' });
      await queries.invalidateQueries({ queryKey: KEY });
      await queries.invalidateQueries({ queryKey: ['presence'] });
    },
  });
  const labels = {
    dnd_enabled: t('dnd'),
    call_forward_number: t('forward_always'),
    cf_busy_number: t('forward_busy'),
    cf_noanswer_number: t('forward_unanswered'),
    cf_noanswer_timeout: t('ring_seconds'),
    phone_modes: t('ringing'),
  };
  const field = fieldsWith(change.error, labels);
  return (
    <ChangeForm change={change} submit={t('save_calls')} labels={labels} maw={560}>
      <Switch
        {...field('dnd_enabled')}
        description={t('dnd_text')}
        checked={fields.dnd_enabled}
        onChange={(event) => set({ dnd_enabled: event.currentTarget.checked })}
      />
      <Forward
        {...field('call_forward_number')}
        description={t('forward_hint')}
        value={fields.call_forward_number}
        onNumber={(call_forward_number) => set({ call_forward_number })}
      />
      <Forward
        {...field('cf_busy_number')}
        value={fields.cf_busy_number}
        onNumber={(cf_busy_number) => set({ cf_busy_number })}
      />
      <Group align="flex-end" wrap="wrap">
        <Forward
          {...field('cf_noanswer_number')}
          flex="1 1 16rem"
          value={fields.cf_noanswer_number}
          onNumber={(cf_noanswer_number) => set({ cf_noanswer_number })}
        />
        <NumberInput
          {...field('cf_noanswer_timeout')}
          suffix={t('seconds_suffix')}
          min={5}
          max={120}
          w={150}
          value={fields.cf_noanswer_timeout}
          onChange={(cf_noanswer_timeout) => set({ cf_noanswer_timeout })}
        />
      </Group>
      <Checkbox.Group
        {...field('phone_modes')}
        value={kinds}
        onChange={(phone_modes) => set({ phone_modes })}
        {...(kinds.length === 0 && { error: t('no_ringing') })}
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
  return <Read of={read}>{(features) => <Fields features={features} />}</Read>;
}
