import { useState } from 'react';
import type { ReactNode } from 'react';
import {
  Alert,
  Button,
  Code,
  Group,
  Modal,
  PasswordInput,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Check, Copy, ShieldCheck, ShieldOff, TriangleAlert } from 'lucide-react';
import { CopyButton } from '../app/copy.ts';
import { ChangeForm } from '../app/change-form.tsx';
import { fieldsWith } from '../app/field-errors.ts';
import { Dialog } from '../app/dialog.tsx';
import { useOnce } from '../app/once.ts';
import { useClient } from '../app/session.tsx';
import { Failure, Read } from '../app/states.tsx';
import { QrCode } from './qr.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('account');
const OTP = ['account', 'otp'];

type Step =
  | { readonly is: 'closed' }
  | { readonly is: 'scan'; readonly secret: string; readonly uri: string }
  | { readonly is: 'codes'; readonly codes: readonly string[] }
  | { readonly is: 'off' };

const CopyAll = ({ value }: { readonly value: string }): ReactNode => (
  <CopyButton value={value} timeout={2_000}>
    {({ copied, copy }) => (
      <Button
        variant="default"
        onClick={copy}
        leftSection={copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      >
        <span aria-live="polite">{copied ? t('copied') : t('copy')}</span>
      </Button>
    )}
  </CopyButton>
);
/** The secret in groups of four, for typing. */
const grouped = (secret: string): string => secret.replaceAll(/(.{4})(?=.)/g, '$1 ');

const Secret = ({ secret, uri }: { readonly secret: string; readonly uri: string }): ReactNode => (
  <>
    <Text size="sm">{t('scan_text')}</Text>
    <Group justify="center">
      <QrCode text={uri} label={t('qr_label')} />
    </Group>
    <Text size="sm">{t('type_secret')}</Text>
    <Code block style={{ whiteSpace: 'pre-wrap', textAlign: 'center' }}>
      {grouped(secret)}
    </Code>
  </>
);
interface RecoveryCodesProps {
  readonly codes: readonly string[];
  readonly onClose: () => void;
}
const RecoveryCodes = ({ codes, onClose }: RecoveryCodesProps): ReactNode => (
  <Stack>
    <Alert color="yellow" variant="light" icon={<TriangleAlert size={18} aria-hidden />}>
      {t('codes_text')}
    </Alert>
    <SimpleGrid component="ul" cols={2} spacing="xs" p={0} m={0} style={{ listStyle: 'none' }}>
      {codes.map((code) => (
        <Code component="li" key={code} ta="center" p="xs" fz="sm">
          {code}
        </Code>
      ))}
    </SimpleGrid>
    <Group justify="space-between">
      <CopyAll value={codes.join('\n')} />
      <Button onClick={onClose}>{t('kept_them')}</Button>
    </Group>
  </Stack>
);

export function SecondFactor(): ReactNode {
  const client = useClient();
  const state = useQuery({
    queryKey: OTP,
    queryFn: ({ signal }) => client.session.otp(signal),
  });
  return <Read of={state}>{({ enabled }) => <Switched on={enabled} />}</Read>;
}
/** The state of the second factor, and the dialogs that change it. */
function Switched({ on }: { readonly on: boolean }): ReactNode {
  const client = useClient();
  const queries = useQueryClient();
  const [step, setStep] = useState<Step>({ is: 'closed' });
  const [password, setPassword] = useState('');
  const [otp, setOtp] = useState('');
  const to = (next: Step): void => {
    setPassword('');
    setOtp('');
    setStep(next);
  };
  const renew = (): Promise<void> => queries.invalidateQueries({ queryKey: OTP });
  const begin = useOnce({
    mutationFn: () => client.session.beginOtp(),
    onSuccess: ({ secret, uri }) => to({ is: 'scan', secret, uri }),
  });
  const confirm = useOnce({
    mutationFn: () => client.session.confirmOtp(otp.trim()),
    onSuccess: async ({ recovery_codes }) => {
      to({ is: 'codes', codes: recovery_codes });
      await renew();
    },
  });
  const disable = useOnce({
    mutationFn: () => client.session.disableOtp(password, otp.trim()),
    onSuccess: async () => {
      to({ is: 'closed' });
      notifications.show({ message: t('second_factor_is_off'), color: 'green' });
      await renew();
    },
  });
  const open = (next: Step): void => {
    for (const one of [begin, confirm, disable]) one.reset();
    to(next);
  };
  const close = (): void => to({ is: 'closed' });
  const labels = {
    current_password: t('current_password'),
    otp: t(step.is === 'off' ? 'digits_or_code' : 'digits'),
  };
  const field = fieldsWith(confirm.error ?? disable.error, labels);
  const digitsField = (
    <TextInput
      {...field('otp')}
      data-autofocus={step.is === 'scan' || undefined}
      inputMode="numeric"
      autoComplete="one-time-code"
      value={otp}
      onChange={(event) => setOtp(event.currentTarget.value)}
      required
    />
  );
  return (
    <>
      <Group justify="space-between">
        <Group gap="xs" c={on ? 'var(--offhook-ok)' : 'dimmed'}>
          {on ? <ShieldCheck size={20} aria-hidden /> : <ShieldOff size={20} aria-hidden />}
          <Text fw={600}>{t(on ? 'second_factor_on' : 'second_factor_off')}</Text>
        </Group>
        {on ? (
          <Button variant="default" onClick={() => open({ is: 'off' })}>
            {t('switch_off')}
          </Button>
        ) : (
          <Button
            loading={begin.isPending}
            onClick={() => {
              open({ is: 'closed' });
              begin.mutate();
            }}
          >
            {t('switch_on')}
          </Button>
        )}
      </Group>
      {begin.error !== null && <Failure error={begin.error} />}
      <Dialog opened={step.is === 'scan'} onClose={close} title={t('scan_title')} centered>
        {step.is === 'scan' && (
          <ChangeForm change={confirm} submit={t('switch_on')} labels={labels} onClose={close}>
            <Secret secret={step.secret} uri={step.uri} />
            {digitsField}
          </ChangeForm>
        )}
      </Dialog>
      <Modal
        opened={step.is === 'codes'}
        onClose={close}
        title={t('codes_title')}
        centered
        closeOnClickOutside={false}
        closeOnEscape={false}
        withCloseButton={false}
      >
        {step.is === 'codes' && <RecoveryCodes codes={step.codes} onClose={close} />}
      </Modal>
      <Dialog opened={step.is === 'off'} onClose={close} title={t('switch_off_title')} centered>
        <ChangeForm change={disable} submit={t('switch_off')} labels={labels} onClose={close}>
          <PasswordInput
            {...field('current_password')}
            autoComplete="current-password"
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            data-autofocus
            required
          />
          {digitsField}
        </ChangeForm>
      </Dialog>
    </>
  );
}
