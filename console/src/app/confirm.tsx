/** Asks for the password, and the code of a second factor, when the service requires a confirmed session. */
import { useState, useSyncExternalStore } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { OffhookError } from '@offhook/client';
import type { Asking } from './asking.ts';
import { CompanyWindow } from './company-sign-in.tsx';
import { useOnce } from './once.ts';
import { useClient } from './session.tsx';
import { Failure } from './states.tsx';
import { wordsOf } from './words.ts';

const t = wordsOf('app');

function ConfirmForm({ asking }: { readonly asking: Asking }): ReactNode {
  const client = useClient();
  const [asksOtp, setAsksOtp] = useState(false);
  const [proof, setProof] = useState({ password: '', otp: '' });
  const [error, setError] = useState<unknown>(null);
  const go = useOnce({
    mutationFn: () => client.session.confirm(proof.password, proof.otp === '' ? undefined : proof.otp.trim()),
    onMutate: () => setError(null),
    onSuccess: () => asking.settle(true),
    onError(refusal) {
      const needsOtp = refusal instanceof OffhookError && refusal.code === 'otp_required';
      setError(needsOtp && !asksOtp ? null : refusal);
      setAsksOtp(asksOtp || needsOtp);
    },
  });
  const submit = (event: FormEvent): void => {
    // A separate dialog, independent of the element that caused the question.
    event.preventDefault();
    event.stopPropagation();
    go.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text>{t('confirm_text')}</Text>
        <PasswordInput
          label={t('confirm_password')}
          description={t('confirm_hint')}
          autoComplete="current-password"
          value={proof.password}
          onChange={(event) => setProof({ ...proof, password: event.currentTarget.value })}
          autoFocus
          data-autofocus
          required
        />
        {asksOtp && (
          <TextInput
            label={t('otp')}
            autoComplete="one-time-code"
            inputMode="numeric"
            value={proof.otp}
            onChange={(event) => setProof({ ...proof, otp: event.currentTarget.value })}
            autoFocus
            required
          />
        )}
        {error !== null && <Failure error={error} />}
        <Group justify="flex-end">
          <CompanyWindow again />
          <Button variant="default" onClick={() => asking.settle(false)}>
            {t('cancel')}
          </Button>
          <Button type="submit" loading={go.isPending}>
            {t('confirm')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
export function ConfirmDialog({ asking }: { readonly asking: Asking }): ReactNode {
  const asked = useSyncExternalStore((listener) => asking.subscribe(listener), asking.isAsked);
  return (
    <Modal
      opened={asked}
      onClose={() => asking.settle(false)}
      title={t('confirm_title')}
      centered
      zIndex={400}
    >
      {asked && <ConfirmForm asking={asking} />}
    </Modal>
  );
}
