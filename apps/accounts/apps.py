from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "apps.accounts"

    def ready(self) -> None:
        from allauth.mfa.signals import authentication_failed
        from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed

        from apps.accounts.identity import sign_ins

        user_logged_in.connect(sign_ins.record_sign_in, dispatch_uid="audit-sign-in")
        user_logged_out.connect(sign_ins.record_sign_out, dispatch_uid="epoch-sign-out")
        user_login_failed.connect(sign_ins.record_failed_sign_in, dispatch_uid="audit-failed-sign-in")
        authentication_failed.connect(sign_ins.record_failed_second_factor, dispatch_uid="audit-failed-second-factor")
