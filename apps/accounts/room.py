from celery.schedules import crontab

from apps.room import Room


class Accounts(Room):
    name = "apps.accounts"

    periodic_tasks = {
        # Detects within this time that the database was restored under running processes.
        "check-epoch": {"task": "accounts.check_epoch", "schedule": 60.0},
        "prune-sessions": {"task": "accounts.prune_sessions", "schedule": crontab(hour=2, minute=37)},
    }
    # When tokens were last used (D13).
    starts = ("identity.token_usage.start",)
    sealed_columns = ("identity.second_factor.SEALED",)
    known_secrets = ("people.service_accounts.known_to_their_makers",)

    def ready(self) -> None:
        from allauth.mfa.signals import authentication_failed
        from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed

        from apps.accounts.identity import sign_ins

        user_logged_in.connect(sign_ins.record_sign_in, dispatch_uid="audit-sign-in")
        user_logged_out.connect(sign_ins.record_sign_out, dispatch_uid="epoch-sign-out")
        user_login_failed.connect(sign_ins.record_failed_sign_in, dispatch_uid="audit-failed-sign-in")
        authentication_failed.connect(sign_ins.record_failed_second_factor, dispatch_uid="audit-failed-second-factor")
