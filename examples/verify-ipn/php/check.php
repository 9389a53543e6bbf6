<?php

// Prints the result of verify_ipn.php for each recorded delivery: php check.php recorded.json

declare(strict_types=1);

require __DIR__ . '/verify_ipn.php';

$recorded = json_decode(file_get_contents($argv[1]), true, 512, JSON_THROW_ON_ERROR);
$seen = [];
$remember = function (string $key) use (&$seen): bool {
    $isNew = !isset($seen[$key]);
    $seen[$key] = true;
    return $isNew;
};

foreach ($recorded['deliveries'] as $delivery) {
    try {
        $verified = verify_ipn(
            $delivery['body'],
            $delivery['signature'],
            $recorded['secret'],
            $remember,
            $delivery['received_at'],
        );
        $payment = $verified['payment'] ?? null;
        $notice = $verified['notice'] ?? null;
        $renewal = $verified['renewal'] ?? null;
        $verdict = match (true) {
            $payment !== null => "accepted {$payment['payment_status']}",
            $notice !== null => "notice {$notice['_gateway']['notice']['type']} {$notice['payment_status']}",
            $renewal !== null => "renewal {$renewal['_gateway']['renewal']['day_offset']} {$renewal['payment_status']}",
            default => 'duplicate',
        };
    } catch (Refused $refusal) {
        $verdict = $refusal->getMessage();
    }
    echo "{$delivery['name']}: $verdict\n";
}
