import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { QrCode as QrIcon } from 'lucide-react';
import { formatSpan } from '../app/format.ts';
import { useSecond } from '../app/now.ts';
import { useOnce } from '../app/once.ts';
import { Failure, Loading } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';
import { QrCode } from './qr.tsx';

const t = wordsOf('account');

interface Code {
  readonly code: string;
  readonly uri: string;
  readonly expires_at: string;
}
interface ShownCodeProps {
  readonly code: Code;
  readonly name: string;
  readonly onNew: () => void;
}
function ShownCode({ code, name, onNew }: ShownCodeProps): ReactNode {
  const left = Math.max(0, Math.ceil(Date.parse(code.expires_at) / 1000 - useSecond()));
  if (left === 0)
    return (
      <Group justify="space-between">
        <Text role="status">{t('app_code_over')}</Text>
        <Button onClick={onNew}>{t('app_code_new')}</Button>
      </Group>
    );
  return (
    <Stack>
      <Text size="sm">{t('app_code_text', { name })}</Text>
      <Group justify="center">
        <QrCode text={code.uri} label={t('app_code_label')} />
      </Group>
      <Text size="sm" c="dimmed" ta="center" role="timer">
        {t('app_code_left', { span: formatSpan(left) })}
      </Text>
    </Stack>
  );
}
interface AppSignInProps {
  /** Person whom the code signs in. */
  readonly name: string;
  readonly make: () => Promise<Code>;
  /** Query key of the devices. */
  readonly renews: string;
}
/** Shows a code with which a phone app signs in without a password. */
export function AppSignIn({ name, make, renews }: AppSignInProps): ReactNode {
  const queries = useQueryClient();
  const [opened, setOpened] = useState(false);
  const create = useOnce({ mutationFn: make });
  const show = (): void => {
    setOpened(true);
    create.mutate();
  };
  const close = (): void => {
    setOpened(false);
    create.reset();
    // The device that used the code is in the list now.
    void queries.invalidateQueries({ queryKey: [renews] });
  };
  return (
    <>
      <Button variant="default" leftSection={<QrIcon size={16} aria-hidden />} onClick={show}>
        {t('app_code')}
      </Button>
      <Modal opened={opened} onClose={close} title={t('app_code')} centered>
        {create.isPending && <Loading />}
        {create.isError && <Failure error={create.error} onRetry={() => create.mutate()} />}
        {create.isSuccess && create.data !== undefined && (
          <ShownCode key={create.data.code} code={create.data} name={name} onNew={() => create.mutate()} />
        )}
      </Modal>
    </>
  );
}
