<?php

// The scenario's receiver, served by PHP's own server: a plain PHP shop over PDO.

declare(strict_types=1);

namespace Gateway\Sdk;

require __DIR__ . '/../autoload.php';

$folder = getenv('FOLDER');
$once = new PdoOnce(new \PDO("sqlite:$folder/shop"));
$note = static function (\PDO $shop, string $kind, string $text): void {
    $shop->prepare('INSERT INTO acts (kind, text) VALUES (?, ?)')->execute([$kind, $text]);
};
$ipn = new PaymentIpnReceiver(
    ['the one before', getenv('PAYMENT_SECRET')],
    $once,
    static function (array $payment, \PDO $shop) use ($note, $folder): void {
        $note($shop, 'payments', "{$payment['payment_id']} {$payment['payment_status']} {$payment['actually_paid']}");
        if (@unlink("$folder/fail")) {
            throw new \RuntimeException('as the scenario asked');
        }
    },
    static fn (array $notice, array $payment, \PDO $shop) => $note($shop, 'notices', "{$notice['type']} {$notice['amount']}"),
    static fn (array $renewal, array $payment, \PDO $shop) => $note(
        $shop,
        'renewals',
        "{$renewal['day_offset']} {$renewal['renewal_url']} {$payment['payment_status']}",
    ),
);
$payouts = new PayoutWebhookReceiver(
    getenv('PAYOUT_SECRET'),
    $once,
    static fn (array $event, \PDO $shop) => $note($shop, 'events', "{$event['eventType']} {$event['order']['id']} {$event['order']['state']}"),
);
($_SERVER['REQUEST_URI'] === '/ipn' ? $ipn : $payouts)->respond();
