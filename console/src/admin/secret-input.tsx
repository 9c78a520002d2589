/** A secret is never shown: it can be replaced, generated or removed. */
import type { ReactNode } from 'react';
import { Badge, Button, Group, Input, PasswordInput, Stack, Text } from '@mantine/core';
import { fieldHelp, fieldLabel } from './field-words.ts';
import { fieldId, useForm } from './form-context.ts';
import { useMistake } from './mistakes.tsx';
import type { SecretWish } from './use-object-form.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

/** Required secrets, which the service generates if they are missing. */
const MADE_UP = new Set([
  'extension.sip_password',
  'extension.voicemail_pin',
  'mailbox.pin',
  'phone.sip_password',
]);
interface SecretInputProps {
  readonly name: string;
  readonly isSet: boolean;
  readonly wish: SecretWish | null;
  readonly onWish: (wish: SecretWish | null) => void;
}
export function SecretInput({ name, isSet, wish, onWish }: SecretInputProps): ReactNode {
  const { kind, isNew } = useForm();
  const error = useMistake(name);
  const label = fieldLabel(kind, name);
  const made = MADE_UP.has(`${kind}.${name}`);
  const typing = wish?.is === 'give' || (isNew && !made);
  const state =
    wish?.is === 'renew'
      ? 'secret_renewed'
      : wish?.is === 'remove'
        ? 'secret_removed'
        : isSet
          ? 'secret_set'
          : made && isNew
            ? 'secret_made'
            : 'secret_none';
  return (
    <Stack gap={6} mt="md" role="group" aria-label={label}>
      <Group gap="xs">
        <Text size="sm" fw={500} component="span">
          {label}
        </Text>
        <Badge variant="default" tt="none" fw={500}>
          {t(wish?.is === 'give' ? 'secret_given' : state)}
        </Badge>
      </Group>
      {fieldHelp(kind, name) !== '' && <Input.Description>{fieldHelp(kind, name)}</Input.Description>}
      {typing && (
        <PasswordInput
          id={fieldId(name)}
          aria-label={label}
          autoComplete="new-password"
          value={wish?.is === 'give' ? wish.value : ''}
          onChange={(event) => onWish({ is: 'give', value: event.currentTarget.value })}
          visibilityToggleButtonProps={{ 'aria-label': t('show_typed') }}
          error={error}
          // The library sets these attributes on the frame, not on the input.
          aria-invalid={error !== undefined}
          aria-describedby={error === undefined ? undefined : `${fieldId(name)}-error`}
          maw={420}
        />
      )}
      {!typing && error !== undefined && <Input.Error id={fieldId(name)}>{error}</Input.Error>}
      <Group gap="xs">
        {!typing && (
          <Button variant="default" size="xs" onClick={() => onWish({ is: 'give', value: '' })}>
            {t(isSet ? 'secret_another' : 'secret_give')}
          </Button>
        )}
        {!isNew && made && wish?.is !== 'renew' && (
          <Button variant="default" size="xs" onClick={() => onWish({ is: 'renew' })}>
            {t('secret_renew')}
          </Button>
        )}
        {!isNew && !made && isSet && wish?.is !== 'remove' && (
          <Button variant="default" size="xs" onClick={() => onWish({ is: 'remove' })}>
            {t('secret_remove')}
          </Button>
        )}
        {wish !== null && (
          <Button variant="subtle" size="xs" onClick={() => onWish(null)}>
            {t('secret_keep')}
          </Button>
        )}
      </Group>
    </Stack>
  );
}
